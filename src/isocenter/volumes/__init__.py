"""Files to arrays with their geometry, and back: NIfTI, MetaImage (MHA, MHD) and NRRD; arrays without any from numpy.

Arrays have axes (x, y, z). World coordinates are LPS millimetres. A file is hostile until its header has been read:
nothing is allocated that the file could not fill, and no other file is opened because a header names it, except the
data file of a detached header that lies beside it.

>>> from isocenter.volumes import Grid, Volume, read, write          # doctest: +SKIP
>>> ct = read("ct.nii.gz")                                           # doctest: +SKIP
>>> ct.array.shape, ct.grid.spacing                                  # doctest: +SKIP
((512, 512, 150), (0.98, 0.98, 3.0))
"""

from isocenter.volumes._files import DiskFile, File, Folder, HeldFile, MemoryFile, ZipMember, digest, hold, read_bytes
from isocenter.volumes._grid import Grid
from isocenter.volumes._header import SUFFIXES, Header, VolumeError, suffix_of
from isocenter.volumes._labels import LabelMap, side_by_side
from isocenter.volumes._numpy import NUMPY_SUFFIXES, read_numpy
from isocenter.volumes._read import Foreground, OpenVolume, Volume, open_volume, read, read_header, read_labels
from isocenter.volumes._resample import resample, to_itk
from isocenter.volumes._stack import Box, Frame, Stack, read_frames, read_stack_header
from isocenter.volumes._write import write

__all__ = [
    "NUMPY_SUFFIXES",
    "SUFFIXES",
    "Box",
    "DiskFile",
    "File",
    "Folder",
    "Foreground",
    "Frame",
    "Grid",
    "Header",
    "HeldFile",
    "LabelMap",
    "MemoryFile",
    "OpenVolume",
    "Stack",
    "Volume",
    "VolumeError",
    "ZipMember",
    "digest",
    "hold",
    "open_volume",
    "read",
    "read_bytes",
    "read_frames",
    "read_header",
    "read_labels",
    "read_numpy",
    "read_stack_header",
    "resample",
    "side_by_side",
    "suffix_of",
    "to_itk",
    "write",
]
