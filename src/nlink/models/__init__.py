"""Model files as records, and records as model files: systems, loads and starts; `scenario` joins them."""
