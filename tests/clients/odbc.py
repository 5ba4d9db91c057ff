"""ODBC drivers by name, and what tells whether they are there.

Microsoft's driver comes out of the wheel of mssql-python, where it lies beside the licence it is under. Both are loaded by
unixODBC; `.clients/odbc/odbcinst.ini` names them to it, with pooling on, so that a closed connection is used again.
"""

import ctypes.util
import glob
import os
import threading

from harness import TOOLS

LIBRARIES = {
    "msodbcsql18": str(TOOLS / "venv/lib/python3*/site-packages/mssql_python_odbc/libs/linux/debian_ubuntu/*/lib/libmsodbcsql-18*.so*"),
    "freetds-odbc": "/usr/lib/*/odbc/libtdsodbc.so",
}


# Groups of clients are threads of one process: one writes while the others wait.
configuring = threading.Lock()


def library(driver):
    """The path of a driver's library; None if it is not there."""
    return next(iter(sorted(glob.glob(LIBRARIES[driver]))), None)


def missing(driver):
    if not ctypes.util.find_library("odbc"):
        return "unixodbc is not installed"
    if not library(driver):
        return f"no driver {LIBRARIES[driver]}"
    configure()
    return None


def configure():
    """Writes the file that names the drivers, in one step: other clients are reading it."""
    folder = TOOLS / "odbc"
    folder.mkdir(exist_ok=True)
    entries = [f"[{name}]\nDriver={library(name)}\nCPTimeout=60\n" for name in LIBRARIES if library(name)]
    written = folder / f"odbcinst.{os.getpid()}"
    with configuring:
        written.write_text("[ODBC]\nPooling=Yes\n\n" + "\n".join(entries))
        written.replace(folder / "odbcinst.ini")
