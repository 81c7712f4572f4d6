"""All compiled code. Submodules load Numba, so import them where they are first used."""
