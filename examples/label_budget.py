"""Ask for labels only where they pay: at most one row in ten."""

import numpy as np

from devfnn import DEVFNN, Config
from devfnn.streams import sea

model = DEVFNN(Config().replace(labels__budget=0.1))
asked = correct = total = 0
for index, chunk in enumerate(sea(50000, rows_per_concept=25000, noise=0.05)):
    if index:
        correct += int(np.count_nonzero(model.predict(chunk.X) == chunk.y))
        total += len(chunk.y)
    wanted = model.wants_label(chunk.X)  # decided without a label
    asked += int(np.count_nonzero(wanted))
    model.learn(chunk.X, chunk.y, chosen=wanted)  # labels of the other rows are not read
print(f"accuracy {correct / total:.3f} with {asked} of 50000 labels")
