//! Fuzz target that reads arbitrary bytes as an instrumentation manifest.

use perfset_manifest::{Manifest, generate};

/// Checks the problems found in an instrumentation manifest: they lie inside the text. A valid manifest is the same
/// after writing and reading.
pub fn check(input: &[u8]) {
    let (manifest, problems) = Manifest::check(input);
    assert_eq!(manifest.is_none(), problems.errors().count() > 0);
    assert!(problems.list().iter().all(|p| p.line <= input.len() + 1 && p.column <= input.len() + 1));
    assert!(problems.list().is_sorted_by_key(|p| (p.line, p.column)));
    let Some(manifest) = manifest else { return };
    assert_eq!(Manifest::parse(manifest.write().as_bytes()).as_ref(), Ok(&manifest));
    let _ = generate::c_header(&manifest, "");
    generate::rust(&manifest, "").expect("no prefix is a good one");
    generate::symbols(&manifest, "").expect("no prefix is a good one");
    // What is a good manifest is a good export, unless it says what only a manifest does.
    let again = Manifest::export(&manifest.countersets()).expect("it was good");
    assert_eq!(again.countersets(), manifest.countersets());
}
