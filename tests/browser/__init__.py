"""The HTML pages in a real browser: headless Chromium, driven by its DevTools protocol over a pipe (chromium.py)."""
