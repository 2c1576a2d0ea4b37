"""How hooks are held, called, checked and watched."""
