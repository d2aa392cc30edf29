"""Central differences: the truth that gradients are held against. Written for NumPy functions, so no autograd engine has a say in it."""
import numpy as np


def slope(function, at, step=1e-6):
    """The gradient of a scalar function of one array."""
    at = np.array(at, dtype="float64")
    out = np.zeros_like(at)
    for i in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        out[i] = (function(up) - function(down)) / (2 * step)
    return out
