"""Writes reference.json: decision values and cross-validated accuracies of scikit-learn's SVC on a small deterministic data set.

Run: python3 reference.py > reference.json    (made with scikit-learn 1.9.1)
"""
import json
import math

import sklearn
from sklearn.svm import SVC


def uniform(seed):
    """A linear congruential generator, so that the data do not depend on any library."""
    while True:
        seed = (6364136223846793005 * seed + 1442695040888963407) % 2**64
        yield (seed >> 11) / 2**53


def examples(n, noise):
    u = uniform(42)
    x, y = [], []
    for _ in range(n):
        p = [4 * next(u) - 2 for _ in range(3)]
        inside = p[0] ** 2 + 0.5 * p[1] ** 2 + 0.3 * math.sin(3 * p[2]) < 1.2
        if next(u) < noise:
            inside = not inside
        x.append(p)
        y.append(inside)
    return x, y


out = {"sklearn": sklearn.__version__, "cases": []}
for n, noise, c, gamma in [(40, 0, 1, 0.5), (120, 0.1, 1, 0.5), (120, 0.1, 32, 0.125), (120, 0.1, 1024, 2), (200, 0.2, 0.03125, 1), (200, 0, 512, 0.0625), (200, 0, 32768, 0.0078125)]:
    x, y = examples(n, noise)
    probe = examples(n + 20, noise)[0][n:]
    m = SVC(C=c, gamma=gamma, tol=1e-9, shrinking=False, cache_size=200).fit(x, y)
    out["cases"].append({
        "n": n, "noise": noise, "C": c, "gamma": gamma, "inside": sum(y),
        "decision": [float(d) for d in m.decision_function(probe)],
        "bias": float(m.intercept_[0]), "vectors": int(m.n_support_.sum()),
    })
print(json.dumps(out, indent=1))
