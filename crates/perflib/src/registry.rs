//! Performance data by the registry's functions, which consumers of the V1 format call.
//!
//! `HKEY_PERFORMANCE_DATA`, `HKEY_PERFORMANCE_TEXT` and `HKEY_PERFORMANCE_NLSTEXT` respond to value names. Of the
//! rest of a registry, only the key `Perflib` and its languages exist, which such consumers look up. All functions
//! are exported as `perflib_*`, as in [`windows`](crate::windows). Source: MS Learn, "Using the Registry Functions to
//! Consume Counter Data"; for the responses of Windows to unusual calls: statements in a peer's tests.

use perfset::v1::{BASE_INDEX, NameTable, TitleNames, ValueName, query};
use perfset::{Language, Status};

use crate::boundary::{Handle, export, guard, handle, load, number, read_text, store};
use crate::process::process;
use crate::wide::{TextLocation, TextUnit, to_utf8, to_utf32, v1_to_utf32};

const ERROR_FILE_NOT_FOUND: Status = Status(2);
const ERROR_BAD_NETPATH: Status = Status(53);
const ERROR_NO_MORE_ITEMS: Status = Status(259);
const ERROR_BADKEY: Status = Status(1010);

const REG_BINARY: u32 = 3;
const REG_DWORD: u32 = 4;
const REG_MULTI_SZ: u32 = 7;

/// Maximum number of text units that are read from a value name: the length of the longest value name of a registry.
const NAME_MOST: usize = 16_384;

/// Registry keys that exist in this library. Their handles are numbers that Windows fixes, except the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegistryKey {
    LocalMachine,
    PerformanceData,
    PerformanceText,
    PerformanceNlsText,
    /// The registry key `Software\Microsoft\Windows NT\CurrentVersion\Perflib`.
    Perflib,
}

impl RegistryKey {
    /// Bits above the lower 32 bits of a registry key's handle, as C headers set them:
    /// `(HKEY)(ULONG_PTR)((LONG)0x80000004)`.
    const SIGN: usize = usize::MAX & !0xFFFF_FFFF;

    const ALL: [(usize, Self); 5] = [
        (0x8000_0002, Self::LocalMachine),
        (0x8000_0004, Self::PerformanceData),
        (0x8000_0050, Self::PerformanceText),
        (0x8000_0060, Self::PerformanceNlsText),
        (0x8000_7066, Self::Perflib),
    ];

    /// Returns the registry key of a handle, whose 32-bit number may be sign-extended or not.
    fn from_handle(key: Handle) -> Result<Self, Status> {
        let is_key = |value: usize| number(key) == value || number(key) == value | Self::SIGN;
        let found = Self::ALL.into_iter().find(|(value, _)| is_key(*value));
        found.map(|(_, key)| key).ok_or(Status::ERROR_INVALID_HANDLE)
    }

    fn to_handle(self) -> Handle {
        let found = Self::ALL.into_iter().find(|(_, key)| *key == self);
        handle(found.map_or(0, |(value, _)| value | Self::SIGN))
    }

    fn is_performance(self) -> bool {
        matches!(self, Self::PerformanceData | Self::PerformanceText | Self::PerformanceNlsText)
    }

    /// Returns the registry key at a path below this key.
    fn open(self, path: &str) -> Result<Self, Status> {
        const PERFLIB: [&str; 5] = ["software", "microsoft", "windows nt", "currentversion", "perflib"];
        let path = path.to_ascii_lowercase();
        let mut words: Vec<&str> = path.split('\\').filter(|word| !word.is_empty()).collect();
        if self.is_performance() {
            return Err(Status::ERROR_INVALID_HANDLE);
        }
        if self == Self::LocalMachine && !words.is_empty() {
            let rest = words.strip_prefix(&PERFLIB).ok_or(ERROR_FILE_NOT_FOUND)?;
            words = rest.to_vec();
        } else if self == Self::LocalMachine {
            return Ok(self);
        }
        match *words {
            [] => Ok(Self::Perflib),
            ["009"] => Ok(Self::PerformanceText),
            ["currentlanguage"] => Ok(Self::PerformanceNlsText),
            _ => Err(ERROR_FILE_NOT_FOUND),
        }
    }

    /// Returns the language of a table of names for a value name without a language.
    fn language(self) -> Language {
        if self == Self::PerformanceNlsText { Language::DEFAULT } else { Language::ENGLISH }
    }
}

/// Kind of text in a C program: the units of its value names, and of the text in responses.
#[derive(Clone, Copy, Debug)]
struct Text {
    /// `true` if value names and tables of names are narrow.
    is_narrow: bool,
    /// Units of a `WCHAR` in the C program, also if it calls the narrow functions.
    wide: TextUnit,
}

const ANSI_UTF16: Text = Text { is_narrow: true, wide: TextUnit::Utf16 };
const ANSI_UTF32: Text = Text { is_narrow: true, wide: TextUnit::Utf32 };
const UTF16: Text = Text { is_narrow: false, wide: TextUnit::Utf16 };
const UTF32: Text = Text { is_narrow: false, wide: TextUnit::Utf32 };

impl Text {
    /// Reads a string of the C program; a null pointer is an empty string.
    ///
    /// # Safety
    /// `start` is null, or a string.
    unsafe fn read(self, start: *const u8) -> Result<String, Status> {
        if start.is_null() {
            return Ok(String::new());
        }
        let text = if self.is_narrow {
            // SAFETY: not null, and the caller promises the rest.
            unsafe { read_narrow(start) }
        } else {
            // SAFETY: as above.
            unsafe { read_text(start, self.wide, NAME_MOST) }
        };
        text.ok_or(Status::ERROR_INVALID_PARAMETER)
    }

    /// Returns the size of a text unit in bytes.
    fn unit_len(self) -> usize {
        match self {
            Self { is_narrow: true, .. } => 1,
            Self { wide: TextUnit::Utf16, .. } => 2,
            Self { wide: TextUnit::Utf32, .. } => 4,
        }
    }

    /// Converts a table of names to the C program's kind of text.
    fn table(self, utf16: Vec<u8>) -> Vec<u8> {
        match self {
            Self { is_narrow: true, .. } => to_utf8(&utf16),
            Self { wide: TextUnit::Utf16, .. } => utf16,
            Self { wide: TextUnit::Utf32, .. } => to_utf32(&utf16, TextLocation::Text),
        }
    }
}

/// Reads a narrow string of the C program.
///
/// # Safety
/// `start` is a string.
unsafe fn read_narrow(start: *const u8) -> Option<String> {
    let mut text = Vec::new();
    for at in 0..NAME_MOST {
        // SAFETY: no NUL came before it.
        match unsafe { start.wrapping_add(at).read() } {
            0 => return Some(String::from_utf8_lossy(&text).into_owned()),
            byte => text.push(byte),
        }
    }
    None
}

export! {
    /// `RegOpenKeyEx`: opens a key below another. Only `Perflib` and its languages exist.
    ///
    /// # Safety
    /// `path` is null or a string, `opened` is null or may be written.
    perflib_RegOpenKeyExA: ANSI_UTF16, perflib_RegOpenKeyExW: UTF16, perflib_RegOpenKeyExW_utf32: UTF32 =>
    open_key_ex(key: Handle, path: *const u8, options: u32, rights: u32, opened: *mut Handle)
}

/// Body of [`perflib_RegOpenKeyExW`] for narrow, UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`perflib_RegOpenKeyExW`].
unsafe fn open_key_ex(
    text: Text,
    key: Handle,
    path: *const u8,
    _options: u32,
    _rights: u32,
    opened: *mut Handle,
) -> Result<(), Status> {
    // SAFETY: the caller promises the same.
    unsafe { open_key(text, key, path, opened) }
}

export! {
    /// `RegOpenKey`: opens a key like `RegOpenKeyEx`.
    ///
    /// # Safety
    /// `path` is null or a string, `opened` is null or may be written.
    perflib_RegOpenKeyA: ANSI_UTF16, perflib_RegOpenKeyW: UTF16, perflib_RegOpenKeyW_utf32: UTF32 =>
    open_key(key: Handle, path: *const u8, opened: *mut Handle)
}

/// Body of [`perflib_RegOpenKeyW`] for narrow, UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`perflib_RegOpenKeyW`].
unsafe fn open_key(text: Text, key: Handle, path: *const u8, opened: *mut Handle) -> Result<(), Status> {
    let key = RegistryKey::from_handle(key)?;
    if opened.is_null() {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller promises it.
    let found = key.open(&unsafe { text.read(path) }?)?;
    // SAFETY: the caller promises it.
    unsafe { store(opened, found.to_handle()) };
    Ok(())
}

export! {
    /// `RegConnectRegistry`: opens a key of this machine. ERROR_BAD_NETPATH for another.
    ///
    /// # Safety
    /// `machine` is null or a string, `opened` is null or may be written.
    perflib_RegConnectRegistryA: ANSI_UTF16, perflib_RegConnectRegistryW: UTF16,
    perflib_RegConnectRegistryW_utf32: UTF32 =>
    connect(machine: *const u8, key: Handle, opened: *mut Handle)
}

/// Body of [`perflib_RegConnectRegistryW`] for narrow, UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`perflib_RegConnectRegistryW`].
unsafe fn connect(text: Text, machine: *const u8, key: Handle, opened: *mut Handle) -> Result<(), Status> {
    let key = RegistryKey::from_handle(key)?;
    if opened.is_null() {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller promises it.
    let machine = unsafe { text.read(machine) }?;
    perfset::is_local(Some(&machine)).map_err(|_| ERROR_BAD_NETPATH)?;
    // SAFETY: the caller promises it.
    unsafe { store(opened, key.to_handle()) };
    Ok(())
}

/// `RegCloseKey`: closes a key. Keys are not counted: a key may be closed any number of times.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_RegCloseKey(key: Handle) -> u32 {
    guard(|| RegistryKey::from_handle(key).map(|_| ()))
}

export! {
    /// `RegQueryValueEx` for HKEY_PERFORMANCE_DATA: writes a PERF_DATA_BLOCK (REG_BINARY), or a table of names
    /// (REG_MULTI_SZ) for values such as `Counter` and `Help 009`.
    ///
    /// A block whose buffer is too small or missing gives ERROR_MORE_DATA and leaves the size as it was: the next
    /// block may be larger. An unknown value name gives a block without objects.
    ///
    /// # Safety
    /// `name` is null or a string; `len` and `kind` are null or may be written; `data` is null or has room for `len`.
    perflib_RegQueryValueExA: ANSI_UTF16, perflib_RegQueryValueExA_utf32: ANSI_UTF32,
    perflib_RegQueryValueExW: UTF16, perflib_RegQueryValueExW_utf32: UTF32 =>
    query_value(key: Handle, name: *const u8, reserved: *const u32, kind: *mut u32, data: *mut u8, len: *mut u32)
}

/// Body of [`perflib_RegQueryValueExW`] for narrow, UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`perflib_RegQueryValueExW`].
unsafe fn query_value(
    text: Text,
    key: Handle,
    name: *const u8,
    reserved: *const u32,
    kind: *mut u32,
    data: *mut u8,
    len: *mut u32,
) -> Result<(), Status> {
    let key = RegistryKey::from_handle(key)?;
    if !reserved.is_null() || (len.is_null() && (!data.is_null() || key.is_performance())) {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller promises it.
    let room = unsafe { load(len) }.filter(|_| !data.is_null());
    // SAFETY: the caller promises it.
    let name = unsafe { text.read(name) }?;
    let value = value(key, &name, text, room.and_then(|room| usize::try_from(room).ok()))?;
    // SAFETY: the caller promises it.
    unsafe { store(kind, value.kind) };
    let Some(bytes) = value.bytes else { return Err(Status::ERROR_MORE_DATA) };
    let needed = u32::try_from(bytes.len()).map_err(|_| Status::ERROR_OUTOFMEMORY)?;
    let fits = room.is_some_and(|room| needed <= room);
    if fits || value.kind != REG_BINARY {
        // SAFETY: the caller promises it.
        unsafe { store(len, needed) };
    }
    match (fits, room) {
        (true, _) => {
            // SAFETY: the caller promised room for that many bytes.
            unsafe { std::ptr::copy(bytes.as_ptr(), data, bytes.len()) };
            Ok(())
        }
        (false, None) if value.kind != REG_BINARY => Ok(()), // only the size was asked
        (false, _) => Err(Status::ERROR_MORE_DATA),
    }
}

/// Value of a registry key.
struct RegistryValue {
    kind: u32,
    /// Bytes of the registry value; `None` if the value was not collected, because the caller has no buffer for it.
    bytes: Option<Vec<u8>>,
}

fn value(key: RegistryKey, name: &str, text: Text, room: Option<usize>) -> Result<RegistryValue, Status> {
    match key {
        RegistryKey::LocalMachine => Err(ERROR_FILE_NOT_FOUND),
        RegistryKey::Perflib => {
            let bytes = Some(perflib_value(name)?.to_le_bytes().to_vec());
            Ok(RegistryValue { kind: REG_DWORD, bytes })
        }
        _ => match (value_name(name, key), room) {
            (name @ (ValueName::Names(_) | ValueName::Helps(_)), _) => {
                Ok(RegistryValue { kind: REG_MULTI_SZ, bytes: Some(text.table(table(&name)?)) })
            }
            (_, None) => Ok(RegistryValue { kind: REG_BINARY, bytes: None }),
            (name, Some(_)) => {
                let block = answer(&name)?;
                let past = process().past()?;
                let converted =
                    if text.wide == TextUnit::Utf32 { v1_to_utf32(&block) } else { block.clone() };
                // A recorded sample that does not fit is not lost.
                if let Some(past) = past.filter(|_| room.is_some_and(|room| converted.len() > room)) {
                    past.keep(name, block);
                }
                Ok(RegistryValue { kind: REG_BINARY, bytes: Some(converted) })
            }
        },
    }
}

/// Parses the name of a registry value. `Counter`, `Help` and `Explain` may have any text behind them, which is a
/// language if it can be parsed as one. An unknown name requests no objects.
fn value_name(name: &str, key: RegistryKey) -> ValueName {
    let word = name.trim().to_ascii_lowercase();
    let is_table = |begin| word.starts_with(begin);
    let table = match (is_table("counter"), is_table("help") || is_table("explain")) {
        (true, _) => Some(ValueName::Names(key.language())),
        (_, true) => Some(ValueName::Helps(key.language())),
        _ => None,
    };
    let names_language = word.contains(char::is_whitespace);
    match (table, word.parse()) {
        (Some(table), _) if !names_language => table,
        (_, Ok(name)) => name,
        (Some(table), Err(_)) => table,
        (None, Err(_)) => ValueName::Objects(Vec::new()),
    }
}

/// Returns a table of names for a value name. A table that does not exist in a language is English, as on Windows.
fn table(name: &ValueName) -> Result<Vec<u8>, Status> {
    let english = match name {
        ValueName::Names(_) => ValueName::Names(Language::ENGLISH),
        _ => ValueName::Helps(Language::ENGLISH),
    };
    match answer(name) {
        Err(Status::ERROR_RESOURCE_LANG_NOT_FOUND) => answer(&english),
        answer => answer,
    }
}

fn answer(name: &ValueName) -> Result<Vec<u8>, Status> {
    let process = process();
    if let Some(past) = process.past()? {
        return past.v1(name);
    }
    let answer = query(&process.machine, name, &perfset::computer_name());
    answer.map(|answer| answer.bytes).map_err(|error| error.status())
}

/// Returns a value of the registry key `Perflib`.
fn perflib_value(name: &str) -> Result<u32, Status> {
    const VERSION: u32 = 0x0001_0001;
    let last = |name: &ValueName| {
        let table = answer(name)?;
        let (names, _) = TitleNames::read(NameTable::new(&table));
        Ok(names.iter().map(|(index, _)| index).max().unwrap_or(BASE_INDEX))
    };
    match name.to_ascii_lowercase().as_str() {
        "last counter" => last(&ValueName::Names(Language::ENGLISH)),
        "last help" => last(&ValueName::Helps(Language::ENGLISH)),
        "base index" => Ok(BASE_INDEX),
        "version" => Ok(VERSION),
        _ => Err(ERROR_FILE_NOT_FOUND),
    }
}

export! {
    /// `RegQueryInfoKey`: writes that a performance key has no subkeys and two values, and a size that is enough for
    /// the longer value. `Perflib` cannot be enumerated and has neither keys nor values. There is no class: its text is
    /// empty.
    ///
    /// # Safety
    /// Each pointer is null or may be written; `class` has room for `class_len` units.
    perflib_RegQueryInfoKeyA: ANSI_UTF16, perflib_RegQueryInfoKeyW: UTF16, perflib_RegQueryInfoKeyW_utf32: UTF32 =>
    query_info_key(
        key: Handle,
        class: *mut u8,
        class_len: *mut u32,
        reserved: *const u32,
        key_count: *mut u32,
        key_name_len_max: *mut u32,
        class_len_max: *mut u32,
        value_count: *mut u32,
        value_name_len_max: *mut u32,
        value_len_max: *mut u32,
        security_len: *mut u32,
        written_at: *mut i64,
    )
}

/// Body of [`perflib_RegQueryInfoKeyW`] for narrow, UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`perflib_RegQueryInfoKeyW`].
#[expect(clippy::too_many_arguments, reason = "the function has them")]
unsafe fn query_info_key(
    text: Text,
    key: Handle,
    class: *mut u8,
    class_len: *mut u32,
    reserved: *const u32,
    key_count: *mut u32,
    key_name_len_max: *mut u32,
    class_len_max: *mut u32,
    value_count: *mut u32,
    value_name_len_max: *mut u32,
    value_len_max: *mut u32,
    security_len: *mut u32,
    written_at: *mut i64,
) -> Result<(), Status> {
    let key = RegistryKey::from_handle(key)?;
    if !reserved.is_null() || (class_len.is_null() && !class.is_null()) {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    let (mut values, mut name_len, mut longest) = (0, 0, 0);
    if key.is_performance() {
        (values, name_len) = (2, 7); // "Counter"
        for name in [ValueName::Names(key.language()), ValueName::Helps(key.language())] {
            longest = longest.max(u32::try_from(text.table(table(&name)?).len()).unwrap_or(u32::MAX));
        }
    }
    // SAFETY: the caller promises it.
    let class_room = unsafe { load(class_len) }.unwrap_or(0);
    if class_room > 0 && !class.is_null() {
        // SAFETY: the caller promised room for a unit.
        unsafe { class.write_bytes(0, text.unit_len()) };
    }
    let answers = [
        (class_len, 0),
        (key_count, 0),
        (key_name_len_max, 0),
        (class_len_max, 0),
        (value_count, values),
        (value_name_len_max, name_len),
        (value_len_max, longest),
        (security_len, 0),
    ];
    for (at, value) in answers {
        // SAFETY: the caller promises it.
        unsafe { store(at, value) };
    }
    // SAFETY: the caller promises it.
    unsafe { store(written_at, 0) };
    Ok(())
}

/// `RegEnumValue`: returns ERROR_MORE_DATA for the two values of a performance key, because their size cannot be known,
/// and writes nothing.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_RegEnumValue(key: Handle, index: u32) -> u32 {
    guard(|| match (RegistryKey::from_handle(key)?.is_performance(), index) {
        (true, 0 | 1) => Err(Status::ERROR_MORE_DATA),
        _ => Err(ERROR_NO_MORE_ITEMS),
    })
}

/// `RegEnumKeyEx`: fails, because there are no keys to enumerate.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_RegEnumKeyEx(key: Handle) -> u32 {
    guard(|| match RegistryKey::from_handle(key)? {
        RegistryKey::PerformanceData => Err(Status::ERROR_INVALID_HANDLE),
        _ => Err(ERROR_NO_MORE_ITEMS),
    })
}

/// `RegSetValueEx`: fails, because nothing can be written.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_RegSetValueEx(key: Handle) -> u32 {
    guard(|| match RegistryKey::from_handle(key)? {
        RegistryKey::PerformanceData => Err(Status::ERROR_INVALID_HANDLE),
        RegistryKey::PerformanceText | RegistryKey::PerformanceNlsText => Err(ERROR_BADKEY),
        _ => Err(Status::ERROR_ACCESS_DENIED),
    })
}

/// `RegQueryValue`: fails, because no key has a value of its own.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_RegQueryValue(key: Handle) -> u32 {
    no_own_value(key)
}

/// `RegSetValue`: fails, because nothing can be written.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_RegSetValue(key: Handle) -> u32 {
    no_own_value(key)
}

fn no_own_value(key: Handle) -> u32 {
    guard(|| match RegistryKey::from_handle(key)?.is_performance() {
        true => Err(Status::ERROR_INVALID_HANDLE),
        false => Err(ERROR_FILE_NOT_FOUND),
    })
}
