"""Writes the image that stands in for SQL Server's, as `docker save` does: drop_in_image.py BINARY BUSYBOX APPLETS COPYRIGHT VERSION ARCH FILE.

    /usr/bin/vlflab               the program
    /opt/mssql/bin/sqlservr       it, by the name under which it is a server with SQL Server's variables
    /opt/mssql-tools*/bin/sqlcmd  it, by the name under which it is sqlcmd
    /bin/busybox                  the shell and its tools (APPLETS lists them), each a link; its licence is in /usr/share/doc/busybox
    /bin/bash                     a script that starts the shell: libraries for tests call the tools by `bash -c`
    /var/opt/mssql                the databases, user 10001

docs/drop-in.md tells users of it. The time of everything is SOURCE_DATE_EPOCH, so the same files give the same bytes.
"""

import io
import sys
import tarfile

from image import EPOCH, add, add_link, write

USER = 10001
OWN = {
    "User": str(USER),
    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    "Cmd": ["/opt/mssql/bin/sqlservr"],
    "WorkingDir": "/",
}
PROGRAM = "/usr/bin/vlflab"
# busybox has no applet of that name, so a link would not do.
BASH = b'#!/bin/sh\nexec /bin/sh "$@"\n'
NAMES = ["opt/mssql/bin/sqlservr", "opt/mssql-tools/bin/sqlcmd", "opt/mssql-tools18/bin/sqlcmd"]


def folders(paths):
    """Every folder above the paths, the outer ones first."""
    above = set()
    for path in paths:
        parts = path.split("/")[:-1]
        above.update("/".join(parts[: count + 1]) for count in range(len(parts)))
    return sorted(above)


def layer(binary, busybox, copyright_text, applets):
    files = [*NAMES, "bin/bash", "bin/busybox", "etc/passwd", "usr/bin/vlflab", "usr/share/doc/busybox/copyright", "var/opt/x"]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for folder in folders(files):
            add(tar, folder, mode=0o755)
        # As there: the group is root's, so that any user of that group can run it.
        add(tar, "tmp", mode=0o1777)
        mssql = tarfile.TarInfo("var/opt/mssql")
        mssql.type, mssql.mode, mssql.uid, mssql.mtime = tarfile.DIRTYPE, 0o770, USER, EPOCH
        tar.addfile(mssql)
        add(tar, "etc/group", b"root:x:0:\n")
        # Engines put their own in its place; without one, nobody knows what localhost is.
        add(tar, "etc/hosts", b"127.0.0.1 localhost\n")
        add(tar, "etc/passwd", f"root:x:0:0::/:/bin/sh\nmssql:x:{USER}:0::/var/opt/mssql:/bin/sh\n".encode())
        add(tar, "usr/bin/vlflab", binary, mode=0o755)
        add(tar, "bin/busybox", busybox, mode=0o755)
        add(tar, "usr/share/doc/busybox/copyright", copyright_text)
        add(tar, "bin/bash", BASH, mode=0o755)
        for applet in applets:
            add_link(tar, f"bin/{applet}", "busybox")
        for name in NAMES:
            add_link(tar, name, PROGRAM)
    return buffer.getvalue()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    binary, busybox, listed, copyright_file, version, arch, target = sys.argv[1:]
    applets = sorted(set(read(listed).decode().split()) - {"bash", "busybox"})
    bytes_of_layer = layer(read(binary), read(busybox), read(copyright_file), applets)
    write(target, ("vlflab-mssql", version, arch), bytes_of_layer, OWN, "packaging/drop-in")


if __name__ == "__main__":
    main()
