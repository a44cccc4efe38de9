# SPDX-License-Identifier: Apache-2.0
"""Device code in the objects of a build: their cubins and PTX, and the kernels of a cubin.

An object holds fat binaries: a header, then entries of PTX (zstd or plain) or of a cubin (an ELF
file). A cubin's sections .nv.info say of each kernel how many registers and how many bytes of
stack frame it has; spilled registers lie in the stack frame. NVIDIA documents neither format, so
callers check what they get here against a kernel that they know.
"""

import collections
import ctypes
import struct

Kernel = collections.namedtuple("Kernel", "name frame_bytes registers")

FAT_HEADER = struct.Struct("<IHHQ")
FAT_MAGIC = struct.pack("<IHH", 0xBA55ED50, 1, FAT_HEADER.size)
PTX, CUBIN = 1, 2
IS_PACKED, IS_ZSTD = 0x2000 | 0x8000, 0x8000
SYMBOL_TABLE, FUNCTION, ENTRY_POINT = 2, 2, 0x10
FRAME_SIZE, REGISTER_COUNT = 0x11, 0x2F


def unpacked(packed, size):
    """The text of a zstd frame, or None without the library."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    library.ZSTD_decompress.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(size)
    count = library.ZSTD_decompress(text, ctypes.c_size_t(size), packed, ctypes.c_size_t(len(packed)))
    return text.raw[:size] if count == size else None


def code_of(data):
    """(kind, architecture, content) of each entry of an object; content is None where it is packed
    in a way that is not read here."""
    at = data.find(FAT_MAGIC)
    while at >= 0:
        end = at + FAT_HEADER.size + FAT_HEADER.unpack_from(data, at)[3]
        entry = at + FAT_HEADER.size
        while entry < end:
            kind, _, header, padded, size = struct.unpack_from("<HHIQI", data, entry)
            architecture, = struct.unpack_from("<I", data, entry + 28)
            flags, _, full = struct.unpack_from("<QQQ", data, entry + 40)
            content = data[entry + header:entry + header + (size or padded)]
            if flags & IS_PACKED:
                content = unpacked(content, full) if flags & IS_ZSTD else None
            yield kind, architecture, content
            entry += header + padded
        at = data.find(FAT_MAGIC, end)


def text_at(table, offset):
    return table[offset:table.index(b"\0", offset)].decode()


def attributes(info):
    """(attribute, symbol index, value) of a section .nv.info."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        if form == 4:
            if size == 8:
                yield (attribute, *struct.unpack_from("<II", info, at + 4))
            at += size
        at += 4


def kernels_of(cubin):
    """Its entry functions."""
    offset, = struct.unpack_from("<Q", cubin, 40)
    size, count, names_index = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQII", cubin, offset + i * size) for i in range(count)]
    contents = [cubin[header[4]:header[4] + header[5]] for header in headers]
    names = [text_at(contents[names_index], header[0]) for header in headers]
    functions = {}
    for header, content in zip(headers, contents):
        if header[1] == SYMBOL_TABLE:
            for i in range(len(content) // 24):
                name, kind, other, _, _, _ = struct.unpack_from("<IBBHQQ", content, i * 24)
                if kind & 15 == FUNCTION and other & ENTRY_POINT:
                    functions[i] = text_at(contents[header[6]], name)
    frames, registers = {}, {}
    for symbol_attribute, symbol, value in attributes(contents[names.index(".nv.info")]):
        if symbol_attribute == FRAME_SIZE:
            frames[symbol] = value
        elif symbol_attribute == REGISTER_COUNT:
            registers[symbol] = value
    return [Kernel(name, frames[symbol], registers[symbol])
            for symbol, name in functions.items()]
