"""Pages of share links, and the page behind one."""
