"""The app in a real browser: headless Chromium, driven over its DevTools protocol."""
