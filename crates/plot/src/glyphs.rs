//! Letters of the system's fonts, for names that the built-in font cannot draw.
//!
//! A font file is untrusted input: it may be damaged, huge, or made to waste time. The search reads little of most
//! files, keeps only outlines of wanted letters, and ends at a deadline.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tiny_skia::Path as Outline;
use ttf_parser::{Face, GlyphId, cmap};

use crate::font::{Pen, small};

/// Longest time that a picture waits for letters of the system's fonts.
const DEADLINE: Duration = Duration::from_secs(5);
/// Maximum number of letters that are searched in fonts. The next constants limit directory entries, font files, and
/// the depth of directories.
const LETTERS: usize = 4_096;
const ENTRIES: usize = 20_000;
const FILES: usize = 4_096;
const DEPTH: usize = 6;
/// Maximum size in bytes of a font file; the next constants limit all files together, a table of letters, and a
/// directory of tables.
const FILE: u64 = 64 << 20;
const ALL_FILES: u64 = 256 << 20;
const TABLE: u64 = 4 << 20;
const TABLES: u64 = 4_096;
/// Maximum distance of a letter's outline from the baseline, in units of the font size; the next constant limits the
/// width.
const TALLEST: f32 = 3.0;
const WIDEST: f64 = 16.0;

/// Outline of a letter and the distance to the next one.
#[derive(Clone, Debug)]
pub struct Glyph {
    /// Distance from the letter to the next one, in units of the font size.
    pub advance: f64,
    /// Outline of the letter with a font size of 1 and a y axis that points up; `None` for a blank.
    pub outline: Option<Outline>,
}

/// Outlines of the letters that a picture needs, by letter.
pub type Glyphs = BTreeMap<char, Glyph>;

/// Returns the directories in which fonts of this system and of this user are installed.
///
/// On Linux these are the usual directories of fontconfig, whose settings are not read.
#[must_use]
pub fn font_directories() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = variable("HOME");
    let below = |directory: &Option<PathBuf>, path: &str| directory.as_ref().map(|at| at.join(path));
    let directories = if cfg!(windows) {
        vec![
            below(&variable("WINDIR"), "Fonts"),
            below(&variable("LOCALAPPDATA"), r"Microsoft\Windows\Fonts"),
        ]
    } else if cfg!(target_os = "macos") {
        vec![
            Some(PathBuf::from("/System/Library/Fonts")),
            Some(PathBuf::from("/Library/Fonts")),
            below(&home, "Library/Fonts"),
        ]
    } else {
        let data = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
        vec![
            below(&data.or_else(|| below(&home, ".local/share")), "fonts"),
            below(&home, ".fonts"),
            Some(PathBuf::from("/usr/local/share/fonts")),
            Some(PathBuf::from("/usr/share/fonts")),
        ]
    };
    directories.into_iter().flatten().collect()
}

/// Finds outlines of letters in the fonts below these directories. Letters that no font has are missing in the result,
/// and so are those that were not found before the deadline.
pub fn find(mut letters: BTreeSet<char>, directories: &[PathBuf]) -> Glyphs {
    let mut found = Glyphs::new();
    while letters.len() > LETTERS {
        letters.pop_last();
    }
    if letters.is_empty() || directories.is_empty() {
        return found;
    }
    let directories = directories.to_vec();
    let (sender, receiver) = mpsc::channel();
    // A thread can be left behind, whatever a file makes the parser do.
    let search = move || search(letters, &directories, &sender);
    if thread::Builder::new().name("fonts".to_owned()).spawn(search).is_err() {
        return found;
    }
    let end = Instant::now().checked_add(DEADLINE);
    while let Some(left) = end.and_then(|end| end.checked_duration_since(Instant::now())) {
        // The channel is closed at the end of the search.
        let Ok((letter, glyph)) = receiver.recv_timeout(left) else { break };
        found.insert(letter, glyph);
    }
    found
}

fn search(mut letters: BTreeSet<char>, directories: &[PathBuf], found: &mpsc::Sender<(char, Glyph)>) {
    let mut left = ALL_FILES;
    for path in files(directories) {
        if letters.is_empty() {
            return;
        }
        for (letter, glyph) in read(&path, &letters, &mut left).unwrap_or_default() {
            letters.remove(&letter);
            if found.send((letter, glyph)).is_err() {
                return;
            }
        }
    }
}

/// Returns the font files below directories; files most similar to the built-in font are first.
fn files(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = BTreeSet::new();
    let mut waiting: VecDeque<(PathBuf, usize)> = directories.iter().map(|path| (path.clone(), 0)).collect();
    let mut entries_left = ENTRIES;
    while let Some((directory, depth)) = waiting.pop_front() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.take(entries_left).flatten() {
            entries_left = entries_left.saturating_sub(1);
            let path = entry.path();
            // Follows links, as distributions install some fonts by links.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if metadata.is_dir() && depth < DEPTH {
                waiting.push_back((path, depth.saturating_add(1)));
            } else if metadata.is_file() && metadata.len() <= FILE && files.len() < FILES {
                files.extend(penalty(&path).map(|penalty| (penalty, path)));
            }
        }
    }
    files.into_iter().map(|(_, path)| path).collect()
}

/// Returns a number for the difference of a font file's name from a regular sans-serif font; `None` for other files.
fn penalty(path: &Path) -> Option<u32> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if !["ttf", "otf", "ttc", "otc"].contains(&ending.as_str()) {
        return None;
    }
    let name = path.file_stem()?.to_str()?.to_ascii_lowercase();
    let has =
        |words: &[&str], penalty| if words.iter().any(|word| name.contains(word)) { penalty } else { 0 };
    let parts = [
        if name.contains("sans") { 0 } else { 1 },
        has(&["mono", "condensed", "narrow"], 2),
        has(&["bold", "black", "heavy", "light", "thin", "medium"], 4),
        has(&["italic", "oblique"], 4),
        has(&["serif"], 8),
        // Fonts with a placeholder for every letter.
        has(&["lastresort", "last resort", "blank"], 100),
    ];
    Some(parts.iter().sum())
}

/// Reads the outlines of letters from a font file, if it has any of them.
fn read(path: &Path, letters: &BTreeSet<char>, left: &mut u64) -> Option<Vec<(char, Glyph)>> {
    let mut file = File::open(path).ok()?;
    let table = table_of_letters(&mut file)?;
    let subtables = cmap::Table::parse(&table)?.subtables;
    let has = |letter: &char| {
        let unicode = subtables.into_iter().filter(|subtable| subtable.is_unicode());
        unicode.flat_map(|subtable| subtable.glyph_index(u32::from(*letter))).any(|glyph| glyph != GlyphId(0))
    };
    let wanted: Vec<char> = letters.iter().filter(|letter| has(letter)).copied().collect();
    if wanted.is_empty() {
        return None;
    }
    let size = file.metadata().ok()?.len();
    *left = left.checked_sub(size)?;
    let data = bytes_at(&mut file, 0, size.min(FILE))?;
    let face = Face::parse(&data, 0).ok()?;
    Some(wanted.into_iter().filter_map(|letter| Some((letter, glyph(&face, letter)?))).collect())
}

fn glyph(face: &Face<'_>, letter: char) -> Option<Glyph> {
    let id = face.glyph_index(letter).filter(|id| *id != GlyphId(0))?;
    let unit = f64::from(face.units_per_em());
    let advance = f64::from(face.glyph_hor_advance(id)?) / unit;
    let mut pen = Pen::default();
    face.outline_glyph(id, &mut pen);
    let scale = tiny_skia::Transform::from_scale(small(1.0 / unit), small(1.0 / unit));
    let outline = pen.finish().and_then(|path| path.transform(scale));
    let is_small = |outline: &Outline| {
        let bounds = outline.bounds();
        // No letter may cover other texts.
        bounds.top() > -TALLEST
            && bounds.bottom() < TALLEST
            && bounds.left() > -TALLEST
            && f64::from(bounds.right()) < advance + f64::from(TALLEST)
    };
    // A letter without an outline could be one of a colour font, which has only pixels.
    let is_sound = outline.as_ref().map_or(letter.is_whitespace(), is_small);
    ((0.0..WIDEST).contains(&advance) && is_sound).then_some(Glyph { advance, outline })
}

/// Reads the table that maps characters to glyphs, of the first font in a file.
fn table_of_letters(file: &mut File) -> Option<Vec<u8>> {
    let head = bytes_at(file, 0, 16)?;
    let begin = if head.starts_with(b"ttcf") { u64::from(u32_at(&head, 12)?) } else { 0 };
    let tables = bytes_at(file, begin.checked_add(12)?, TABLES)?;
    let record = tables.chunks_exact(16).find(|record| record.starts_with(b"cmap"))?;
    let (offset, length) = (u64::from(u32_at(record, 8)?), u64::from(u32_at(record, 12)?));
    bytes_at(file, offset, length.min(TABLE))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// Reads at most this number of bytes of a font file at an offset.
fn bytes_at(file: &mut File, offset: u64, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset)).ok()?;
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
