"""The studio: a page on this machine to build, pose, run and understand chains; FastAPI in front, worker processes behind."""
