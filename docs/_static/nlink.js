// What is wider than the page can be scrolled: let the keyboard reach it.
function reachable() {
  for (const node of document.querySelectorAll("pre, div.math, .table-wrapper")) {
    if (node.scrollWidth > node.clientWidth) node.tabIndex = 0;
    else node.removeAttribute("tabindex");
  }
}

addEventListener("DOMContentLoaded", reachable);
addEventListener("resize", reachable);
