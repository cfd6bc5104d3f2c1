//! Fuzz targets for files of counter paths that the exporter reads, and for names that it writes.

use perfset_engine::path::{QueryFileError, query_paths};
use perfset_export::escaped_label;

/// Checks the fuzz input as a file of counter paths: every line is a path, a comment or empty, or the error names the
/// line.
pub fn query_file(input: &[u8]) {
    let lines = input.split(|byte| *byte == b'\n').count();
    match query_paths("q", input) {
        Ok(paths) => {
            assert!(!paths.is_empty() && paths.len() <= lines);
            // What was read, written as lines, is read as the same.
            let texts: Option<Vec<_>> = paths.iter().map(|path| path.make().ok()).collect();
            let Some(texts) = texts.filter(|texts| texts.iter().all(|text| is_line(text))) else { return };
            let again = query_paths("q", texts.join("\n").as_bytes());
            assert_eq!(again.ok().as_deref(), Some(paths.as_slice()));
        }
        Err(QueryFileError::Text { line, .. } | QueryFileError::Path { line, .. }) => {
            assert!((1..=lines).contains(&line));
        }
        Err(QueryFileError::Empty { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

/// Returns `true` if a counter path can be a line of a file without quoting.
fn is_line(path: &str) -> bool {
    path.trim() == path && !path.contains('\n')
}

/// Checks the fuzz input as the name of an instance: an escaped label does not end early, and reads back as the same
/// name.
pub fn export_label(input: &[u8]) {
    let name = String::from_utf8_lossy(input);
    let label = escaped_label(&name);
    assert!(!label.contains('\n'));
    let mut plain = String::new();
    let mut chars = label.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => plain.push('\n'),
                Some(c @ ('\\' | '"')) => plain.push(c),
                other => panic!("an unknown escape: {other:?}"),
            },
            '"' => panic!("the label ends too soon"),
            c => plain.push(c),
        }
    }
    assert_eq!(plain, name);
}
