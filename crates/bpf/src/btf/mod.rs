//! BTF, the BPF type format: the kernel's own description of its types.
//!
//! Source: `Documentation/bpf/btf.rst` of the kernel.

use std::ops::Range;

/// Error in a BTF type description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("BTF at byte {offset}: {why}")]
#[non_exhaustive]
pub struct BtfError {
    /// Offset of the error from the start of the BTF description, in bytes.
    pub offset: usize,
    /// Reason why the BTF type description is rejected.
    pub why: &'static str,
}

/// Offset, size and type of a structure member in BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Offset of the member from the start of its structure, in bytes.
    pub offset: u32,
    /// Size of the structure member in bytes.
    pub size: u32,
    /// Id of the structure member's type, after typedefs and qualifiers are resolved.
    pub type_id: u32,
}

/// BTF type description in which selected functions and structures are found by name.
///
/// **Shape**: a table of strings and a list of numbered types. Structures have members, and members have types. Any
/// bytes are accepted: data that makes no sense is not found. No lookup visits more than [`STEPS`] members.
///
/// ```no_run
/// use perfset_bpf::Btf;
///
/// let bytes = std::fs::read("/sys/kernel/btf/vmlinux")?;
/// let btf = Btf::parse(&bytes, &["task_struct"])?;
/// let task = btf.structure("task_struct").expect("every kernel has it");
/// println!("a process has its name at byte {}", btf.member(task, "comm").expect("and this").offset);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// [`STEPS`]: Self::STEPS
#[derive(Debug)]
pub struct Btf<'a> {
    bytes: &'a [u8],
    strings: Range<usize>,
    /// Offset of each BTF type in `bytes`; the index is the type id less one.
    offsets: Vec<u32>,
    /// Functions and structures of the description with one of the requested names: name, kind, type id.
    found: Vec<(&'static str, BtfKind, u32)>,
}

/// Kind of a BTF type, as far as this parser distinguishes kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BtfKind {
    Int,
    Pointer,
    Array,
    /// A structure or union.
    Compound,
    Enum,
    /// Typedef or qualifier, which stands for another type.
    Alias,
    Function,
    Prototype,
    Variable,
    Section,
    Enum64,
    Float,
    /// BTF type with neither size nor members.
    Other,
}

impl BtfKind {
    fn from_info(info: u32) -> Option<Self> {
        Some(match info >> 24 & 31 {
            1 => Self::Int,
            2 => Self::Pointer,
            3 => Self::Array,
            4 | 5 => Self::Compound,
            6 => Self::Enum,
            7 => Self::Other, // declared only
            8..=11 | 18 => Self::Alias,
            12 => Self::Function,
            13 => Self::Prototype,
            14 => Self::Variable,
            15 => Self::Section,
            16 => Self::Float,
            17 => Self::Variable, // a tag of a declaration, as long
            19 => Self::Enum64,
            _ => return None,
        })
    }

    /// Returns the number of bytes behind the header of a BTF type that has that many parts, such as members.
    fn tail(self, parts: usize) -> usize {
        match self {
            Self::Compound | Self::Section | Self::Enum64 => parts.saturating_mul(MEMBER),
            Self::Enum | Self::Prototype => parts.saturating_mul(8),
            Self::Array => 12,
            Self::Int | Self::Variable => 4,
            Self::Float | Self::Pointer | Self::Alias | Self::Function | Self::Other => 0,
        }
    }
}

const HEAD: usize = 12;
const MEMBER: usize = 12;

/// Position and header of one type in a BTF description.
#[derive(Clone, Copy, Debug)]
struct Type {
    offset: usize,
    info: u32,
    kind: BtfKind,
    /// Size of the BTF type, or the id of the type that it refers to.
    size_or_type: u32,
}

impl Type {
    fn parts(self) -> usize {
        usize::try_from(self.info & 0xFFFF).unwrap_or(0)
    }
}

impl<'a> Btf<'a> {
    /// Maximum number of structure members that one search in a BTF description looks at.
    pub const STEPS: u32 = 200_000;
    /// Maximum number of chained typedefs and qualifiers in BTF, and maximum nesting of anonymous structures.
    const DEPTH: u32 = 16;

    /// Parses a BTF type description. Lookups find only functions and structures with one of the `wanted` names.
    ///
    /// # Errors
    /// If `bytes` are not BTF version 1 in this machine's byte order, are cut, or contain a type of an unknown kind.
    pub fn parse(bytes: &'a [u8], wanted: &[&'static str]) -> Result<Self, BtfError> {
        let field = |at: usize, why| u32_at(bytes, at).ok_or(BtfError { offset: at, why });
        let magic = bytes.get(..3).ok_or(BtfError { offset: 0, why: "unexpected end" })?;
        let (order, version) = magic.split_at_checked(2).unwrap_or_default();
        if order != 0xEB9F_u16.to_ne_bytes() {
            return Err(BtfError { offset: 0, why: "no type description in this byte order begins here" });
        }
        if version != [1] {
            return Err(BtfError { offset: 2, why: "the version is not supported" });
        }
        let header = field(4, "unexpected end")?;
        let section = |at: usize| -> Result<Range<usize>, BtfError> {
            let (start, len) = (field(at, "unexpected end")?, field(at.saturating_add(4), "unexpected end")?);
            let start = usize::try_from(u64::from(header).saturating_add(start.into())).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
            if end > bytes.len() {
                return Err(BtfError { offset: at, why: "a section goes beyond the end" });
            }
            Ok(start..end)
        };
        let (types, strings) = (section(8)?, section(16)?);
        let names = places(bytes.get(strings.clone()).unwrap_or_default(), wanted);
        // A type takes at least twelve bytes, so that this vector takes at most a third of the file's size.
        let mut offsets = Vec::with_capacity(types.len() / 32);
        let mut found: Vec<(&'static str, BtfKind, u32)> = Vec::new();
        let mut next = types.start;
        while next < types.end {
            let start = next;
            let error = |why| BtfError { offset: start, why };
            let head = bytes.get(next..next.saturating_add(HEAD)).ok_or(error("a type is cut"))?;
            let (name, info) = (u32_at(head, 0).unwrap_or(0), u32_at(head, 4).unwrap_or(0));
            let kind = BtfKind::from_info(info).ok_or(error("a type of a kind that is not known"))?;
            let parts = usize::try_from(info & 0xFFFF).unwrap_or(0);
            offsets.push(u32::try_from(next).map_err(|_| error("the type section is too long"))?);
            let number = u32::try_from(offsets.len()).unwrap_or(u32::MAX);
            if matches!(kind, BtfKind::Function | BtfKind::Compound) {
                if let Ok(place) = names.binary_search_by_key(&name, |(place, _)| *place) {
                    let name = names.get(place).map(|(_, name)| *name);
                    let is_new =
                        |name: &&str| !found.iter().any(|(other, of, _)| other == name && *of == kind);
                    found.extend(name.filter(is_new).map(|name| (name, kind, number)));
                }
            }
            next = next.saturating_add(HEAD).saturating_add(kind.tail(parts));
            if next > types.end {
                return Err(error("a type is cut"));
            }
        }
        Ok(Self { bytes, strings, offsets, found })
    }

    /// Returns the number of types in the BTF description.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns `true` if there are no types in the BTF description.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Returns the type id of the first kernel function of that name, which must be one of the `wanted` names.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<u32> {
        self.named(name, BtfKind::Function)
    }

    /// Returns the type id of the first kernel structure of that name, which must be one of the `wanted` names.
    #[must_use]
    pub fn structure(&self, name: &str) -> Option<u32> {
        self.named(name, BtfKind::Compound)
    }

    fn named(&self, name: &str, kind: BtfKind) -> Option<u32> {
        let found = self.found.iter().find(|found| found.0 == name && found.1 == kind);
        found.map(|found| found.2)
    }

    /// Returns the size of a BTF type in bytes.
    #[must_use]
    pub fn size(&self, type_id: u32) -> Option<u32> {
        let (mut size, mut id) = (1_u32, type_id);
        // Limited, here and in `plain`: types of a damaged description can refer to one another in a circle.
        for _ in 0..Self::DEPTH {
            let (of, _) = self.plain(id)?;
            match of.kind {
                BtfKind::Pointer => return size.checked_mul(8),
                BtfKind::Array => {
                    let (element, count) = self.array(of)?;
                    size = size.checked_mul(count)?;
                    id = element;
                }
                BtfKind::Int | BtfKind::Float | BtfKind::Compound | BtfKind::Enum | BtfKind::Enum64 => {
                    return size.checked_mul(of.size_or_type);
                }
                _ => return None,
            }
        }
        None
    }

    /// Finds a structure member by its path, such as `comm`, `se.sum_exec_runtime` or `rss_stat[1].count`. Members of
    /// an anonymous structure belong to the structure that contains it. Bit fields are not found.
    #[must_use]
    pub fn member(&self, of: u32, path: &str) -> Option<Member> {
        let (mut offset, mut type_id, mut steps) = (0_u32, of, Self::STEPS);
        for part in path.split('.') {
            let (name, index) = match part.split_once('[') {
                Some((name, index)) => (name, Some(index.strip_suffix(']')?.parse::<u32>().ok()?)),
                None => (part, None),
            };
            let (compound, _) = self.plain(type_id)?;
            let (at, of_member) = self.find(compound, name.as_bytes(), Self::DEPTH, &mut steps)?;
            offset = offset.checked_add(at)?;
            type_id = of_member;
            if let Some(index) = index {
                let (array, _) = self.plain(type_id)?;
                let (element, _) =
                    Some(array).filter(|array| array.kind == BtfKind::Array).and_then(|a| self.array(a))?;
                offset = offset.checked_add(index.checked_mul(self.size(element)?)?)?;
                type_id = element;
            }
        }
        Some(Member { offset, size: self.size(type_id)?, type_id: self.plain(type_id)?.1 })
    }

    /// Finds the structure member of that name; returns its offset in bytes and its type id.
    fn find(&self, of: Type, name: &[u8], depth: u32, steps: &mut u32) -> Option<(u32, u32)> {
        if of.kind != BtfKind::Compound {
            return None;
        }
        // With this flag, the offset of each member has the width of a bit field in its upper eight bits.
        let has_bits = of.info >> 31 == 1;
        let members = of.offset.checked_add(HEAD)?;
        for part in 0..of.parts() {
            *steps = steps.checked_sub(1)?;
            let at = members.checked_add(part.checked_mul(MEMBER)?)?;
            let (own_name, type_id) = (u32_at(self.bytes, at)?, u32_at(self.bytes, at.checked_add(4)?)?);
            let place = u32_at(self.bytes, at.checked_add(8)?)?;
            let (bits, width) = if has_bits { (place & 0xFF_FFFF, place >> 24) } else { (place, 0) };
            let own_name = self.text(own_name)?;
            if own_name == name && !name.is_empty() {
                let is_bytes = width == 0 && bits.checked_rem(8) == Some(0);
                return is_bytes.then_some((bits / 8, type_id));
            }
            if own_name.is_empty() {
                let inner = self.plain(type_id).filter(|(inner, _)| inner.kind == BtfKind::Compound);
                if let (Some((inner, _)), Some(depth)) = (inner, depth.checked_sub(1)) {
                    if let Some((offset, type_id)) = self.find(inner, name, depth, steps) {
                        return Some(((bits / 8).checked_add(offset)?, type_id));
                    }
                }
            }
        }
        None
    }

    /// Returns the element type and the number of elements of a BTF array type.
    fn array(&self, of: Type) -> Option<(u32, u32)> {
        let tail = of.offset.checked_add(HEAD)?;
        Some((u32_at(self.bytes, tail)?, u32_at(self.bytes, tail.checked_add(8)?)?))
    }

    /// Resolves typedefs and qualifiers; returns the type behind them and its id.
    fn plain(&self, type_id: u32) -> Option<(Type, u32)> {
        let mut id = type_id;
        for _ in 0..Self::DEPTH {
            let of = self.type_of(id)?;
            if of.kind != BtfKind::Alias {
                return Some((of, id));
            }
            id = of.size_or_type;
        }
        None
    }

    fn type_of(&self, id: u32) -> Option<Type> {
        let at = usize::try_from(*self.offsets.get(usize::try_from(id.checked_sub(1)?).ok()?)?).ok()?;
        let info = u32_at(self.bytes, at.checked_add(4)?)?;
        Some(Type {
            offset: at,
            info,
            kind: BtfKind::from_info(info)?,
            size_or_type: u32_at(self.bytes, at.checked_add(8)?)?,
        })
    }

    /// Returns the string at offset `place` of the BTF string table, cut to 128 bytes. Names that are looked for are
    /// shorter.
    fn text(&self, place: u32) -> Option<&[u8]> {
        const LONGEST: usize = 128;
        let table = self.bytes.get(self.strings.clone())?;
        let rest = table.get(usize::try_from(place).ok()?..)?;
        let rest = rest.get(..LONGEST).unwrap_or(rest);
        Some(rest.get(..memchr::memchr(0, rest).unwrap_or(rest.len())).unwrap_or_default())
    }
}

/// Returns the offsets of the requested names in the BTF string table, ascending. Visits the table once.
fn places(table: &[u8], wanted: &[&'static str]) -> Vec<(u32, &'static str)> {
    /// Maximum number of offsets of names that are returned. A valid table contains each name once; more of them are
    /// garbage.
    const MOST: usize = 1_024;
    // Each bit stands for a length that a requested name has. Most strings are excluded by their length alone. A name
    // that is empty or longer than 63 bytes is never found.
    let bit = |len: usize| u32::try_from(len).ok().and_then(|len| 1_u64.checked_shl(len)).unwrap_or(0) & !1;
    let lengths = wanted.iter().fold(0, |all, name| all | bit(name.len()));
    let mut places = Vec::new();
    let mut start = 0_usize;
    for end in memchr::memchr_iter(0, table) {
        let text = table.get(start..end).unwrap_or_default();
        if lengths & bit(text.len()) != 0 {
            if let Some(name) = wanted.iter().find(|name| name.as_bytes() == text) {
                if places.len() < MOST {
                    places.extend(u32::try_from(start).ok().map(|start| (start, *name)));
                }
            }
        }
        start = end.saturating_add(1);
    }
    places
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests;
