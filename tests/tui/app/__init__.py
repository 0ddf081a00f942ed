"""The full-screen app, driven by Textual's pilot and compared as pictures."""
