"""
Segment a photograph, with strokes
==================================

`segment` divides an image into regions by mean shift in colour and place. Strokes of the same
number belong together and strokes of different numbers apart, so that a few lines put right what
colours alone get wrong.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data
from skimage.segmentation import mark_boundaries

from linkshift.image import mean_shift_filter, segment

image = data.coffee()[::2, ::2]
alone = segment(image)

strokes = np.zeros(image.shape[:2], dtype=int)
strokes[18:78, 146:150] = strokes[76:80, 120:180] = strokes[112:116, 120:160] = 1  # cup and coffee
strokes[160:164, 80:150] = strokes[90:94, 215:232] = 2  # the saucer
strokes[20:24, 230:280] = strokes[180:184, 5:40] = strokes[20:24, 5:60] = 3  # the table
marked = segment(image, scribbles=strokes)

figure, axes = plt.subplots(1, 3, figsize=(13, 3.2), layout="constrained")
painted = image.copy()
for number, colour in ((1, (255, 40, 40)), (2, (40, 220, 40)), (3, (60, 120, 255))):
    painted[strokes == number] = colour
pictures = {
    f"No strokes: {alone.max() + 1} segments": mark_boundaries(image, alone, color=(1, 1, 0)),
    "Strokes": painted,
    f"With strokes: {marked.max() + 1} segments": mark_boundaries(image, marked, color=(1, 1, 0)),
}
for ax, (title, picture) in zip(axes, pictures.items(), strict=True):
    ax.imshow(picture)
    ax.set_title(title, loc="left")
    ax.set_axis_off()

# %%
# Beneath it is the mean-shift filter, which smooths and keeps edges.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for ax, picture in zip(axes, (image, mean_shift_filter(image, 8, 16)), strict=True):
    ax.imshow(picture)
    ax.set_axis_off()
