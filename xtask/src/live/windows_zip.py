"""Reads the resources and imports of a Windows program: windows_zip.py PROGRAM VERSION MANIFEST.

Independent of what made the program: the reader is pefile. The manifest is written into the file MANIFEST.
"""

import sys
import xml.etree.ElementTree

import pefile

program, version, manifest_path = sys.argv[1:]
pe = pefile.PE(program)


def require(name, found, want):
    if found != want:
        sys.exit(f"{name} is {found!r}, not {want!r}")


numbers = ([int(number) for number in version.split(".")] + [0] * 4)[:4]
words = (numbers[0] << 16 | numbers[1], numbers[2] << 16 | numbers[3])
fixed = pe.VS_FIXEDFILEINFO[0]
require("the file version", (fixed.FileVersionMS, fixed.FileVersionLS), words)
require("the product version", (fixed.ProductVersionMS, fixed.ProductVersionLS), words)
tables = [table for info in pe.FileInfo[0] if info.Key == b"StringFileInfo" for table in info.StringTable]
require("the number of tables of texts", len(tables), 1)
require("the language", tables[0].LangID, b"040904B0")
texts = {name.decode(): text.decode() for name, text in tables[0].entries.items()}
require(
    "the texts",
    texts,
    {
        "CompanyName": "The perfset developers",
        "FileDescription": "Performance counters of the system and of applications",
        "FileVersion": version,
        "InternalName": "perfset",
        "LegalCopyright": "The perfset developers, MIT OR Apache-2.0",
        "OriginalFilename": "perfset.exe",
        "ProductName": "perfset",
        "ProductVersion": version,
    },
)

kinds = {kind.id: kind for kind in pe.DIRECTORY_ENTRY_RESOURCE.entries}
require("the list of kinds of resources", sorted(kinds), [16, 24])
manifests = kinds[24].directory.entries
require("the list of manifests", [entry.id for entry in manifests], [1])
place = manifests[0].directory.entries[0].data.struct
manifest = pe.get_data(place.OffsetToData, place.Size)
settings = {}
for element in xml.etree.ElementTree.fromstring(manifest).iter():
    space, name = element.tag[1:].split("}")
    settings[name] = (space, element.attrib, (element.text or "").strip())
microsoft = "http://schemas.microsoft.com/SMI"
require("the code page", settings.get("activeCodePage"), (f"{microsoft}/2019/WindowsSettings", {}, "UTF-8"))
require("the length of paths", settings.get("longPathAware"), (f"{microsoft}/2016/WindowsSettings", {}, "true"))
require("the level", settings.get("requestedExecutionLevel", (None, None))[1], {"level": "asInvoker", "uiAccess": "false"})
windows_10 = {"Id": "{8e0f7a12-bfb3-4fe8-b9a5-48fd50a15a9a}"}
require("the supported system", settings.get("supportedOS", ())[:2], ("urn:schemas-microsoft-com:compatibility.v1", windows_10))
with open(manifest_path, "wb") as file:
    file.write(manifest)

require("the time in the header", pe.FILE_HEADER.TimeDateStamp, 0)
libraries = sorted({entry.dll.decode().lower() for entry in pe.DIRECTORY_ENTRY_IMPORT})
foreign = [name for name in libraries if name.startswith("lib")]
require("the list of libraries that Windows does not have", foreign, [])
print(" ".join(libraries))
