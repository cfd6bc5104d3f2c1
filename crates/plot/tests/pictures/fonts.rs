//! Tests of letters of other fonts in PNG files. The only foreign font is the built-in one with changed bytes, so
//! that the tests depend on no font of the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perfset_plot::{Chart, Label, Picture, PictureOptions};

use super::pixels::Pixels;
use super::{BUSY, chart, some};

const FONT: &[u8] = include_bytes!("../../font/perfset-sans.ttf");

/// Returns the picture of a chart with this title.
fn titled(title: &str) -> Picture {
    let chart: Chart = chart(&[(BUSY, &some(&[1.0, 2.0]))]);
    chart.draw(&PictureOptions { title: title.to_owned(), ..PictureOptions::default() })
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("a/b")).unwrap();
    folder
}

/// Returns the offset of the table with this name in a font.
fn table(font: &[u8], name: &[u8]) -> usize {
    let record = font[12..].chunks_exact(16).find(|record| record.starts_with(name)).unwrap();
    u32::from_be_bytes(record[8..12].try_into().unwrap()) as usize
}

/// Returns the built-in font with a table of characters that has only `letter`, drawn as the glyph of `like`.
fn font_with(letter: char, like: char) -> Vec<u8> {
    let glyph = ttf_parser::Face::parse(FONT, 0).unwrap().glyph_index(like).unwrap().0;
    let mut font = FONT.to_vec();
    // Format 12 with one group: version, number of subtables; platform 3, encoding 10, offset; the subtable.
    let mut cmap = Vec::new();
    for half in [0_u16, 1, 3, 10] {
        cmap.extend(half.to_be_bytes());
    }
    cmap.extend(12_u32.to_be_bytes());
    for half in [12_u16, 0] {
        cmap.extend(half.to_be_bytes());
    }
    for word in [28_u32, 0, 1, u32::from(letter), u32::from(letter), u32::from(glyph)] {
        cmap.extend(word.to_be_bytes());
    }
    let at = table(&font, b"cmap");
    font[at..at + cmap.len()].copy_from_slice(&cmap);
    font
}

#[test]
fn letters_of_other_fonts_are_drawn() {
    let folder = folder("fonts-found");
    fs::write(folder.join("a/b/Foreign-Regular.ttf"), font_with('中', 'M')).unwrap();
    let like = titled("aMb").png_with_fonts(&[]).unwrap();
    let found = titled("a中b").png_with_fonts(std::slice::from_ref(&folder)).unwrap();
    assert_eq!((found.undrawn.as_slice(), found.bytes == like.bytes), (&[][..], true), "the same pixels");
    let part = titled("中文").png_with_fonts(&[folder]).unwrap();
    assert_eq!(part.undrawn, ["中文"]);
}

/// Checks that a letter which no font has is drawn as its code point, and that its text is reported.
#[test]
fn missing_letters_are_code_points() {
    let found = titled("a\u{202E}中").png_with_fonts(&[folder("fonts-none")]).unwrap();
    assert_eq!(found.undrawn, ["a\u{202E}中"]);
    let pixels = |title: &str| Pixels::from_png(&titled(title).png().unwrap());
    let ink = |title: &str| pixels(title).count(0x1F2328, (20.0, 400.0), (20.0, 45.0));
    let (found, like) = (ink("中"), ink("U+4E2D"));
    assert!(found > 100 && found.abs_diff(like) < 40, "{found} {like}");
    // A name of such letters is as wide as it may be, and leaves room for the numbers.
    let name = "中".repeat(100);
    let chart = chart(&[(Label { instance: &name, ..BUSY }, &some(&[1.0])), (BUSY, &some(&[2.0]))]);
    let picture = chart.draw(&PictureOptions::default());
    let name: String = picture.png_with_fonts(&[]).unwrap().undrawn.concat();
    assert!(name.contains('…') && name.chars().count() < 20, "{name}");
    assert!(picture.svg().matches('中').count() > 30, "viewers have narrower letters");
}

/// Checks that damaged font files, links in a circle and fonts that waste time neither end a picture nor delay it.
#[test]
fn hostile_fonts_do_no_harm() {
    let folder = folder("fonts-hostile");
    let font = font_with('中', 'M');
    for (number, length) in (0..60).map(|step| (step, step * font.len() / 60)) {
        fs::write(folder.join(format!("cut{number}.ttf")), &font[..length]).unwrap();
    }
    let mut changed = font.clone();
    for (number, name) in [&b"cmap"[..], b"glyf", b"loca", b"head", b"hmtx", b"maxp"].into_iter().enumerate()
    {
        let at = table(&font, name);
        changed[at..at + 20].fill(0xFF);
        fs::write(folder.join(format!("changed{number}.ttf")), &changed).unwrap();
        changed.clone_from(&font);
    }
    for at in (0..font.len().min(4_000)).step_by(97) {
        changed[at] ^= 0x80;
        fs::write(folder.join(format!("bit{at}.otf")), &changed).unwrap();
        changed.clone_from(&font);
    }
    fs::write(folder.join("empty.ttf"), []).unwrap();
    fs::write(folder.join("collection.ttc"), b"ttcf\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF").unwrap();
    fs::write(folder.join("text.txt"), &font).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&folder, folder.join("a/circle")).unwrap();
    let begun = Instant::now();
    let found = titled("文").png_with_fonts(&[folder.clone(), folder.join("absent")]).unwrap();
    assert_eq!(found.undrawn, ["文"]);
    titled("中").png_with_fonts(&[folder]).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30));
}
