use super::*;

/// Returns the problems about circles in files of a crate, which are given by their paths below `crates/a/src`.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let source = |(path, text): &(&str, &str)| (Path::new("crates/a/src").join(path), (*text).to_owned());
    let sources: Vec<_> = files.iter().map(source).collect();
    check(&sources).iter().map(Problem::to_string).collect()
}

/// Problem about the circle of `b.rs`, `c.rs` and `d.rs`, each of which uses the next one.
const CIRCLE: &str = "crates/a/src/b.rs: is in a circle of 3 modules: crates/a/src/b.rs, crates/a/src/c.rs, \
                      crates/a/src/d.rs; b uses c; c uses d; d uses b";

#[test]
fn three_modules_are_a_circle() {
    let lib = ("lib.rs", "mod b; mod c; mod d; mod e; pub use d::D as Thing;");
    for (what, b, c, d) in [
        ("imports", "use crate::c::C;", "use super::d;", "pub use super::{b::{self, B}, e::E};"),
        ("a name of the root", "use crate::c::C;", "use crate::Thing;", "use crate::b::*;"),
        ("a path in code", "fn f() { crate::c::f() }", "fn f(x: &super::d::D) {}", "use crate::b;"),
        (
            "a path in a module inside of the file",
            "use crate::c::C;",
            "mod inside { use super::super::d::D; use super::C; }",
            "use crate::b;",
        ),
        (
            "after a lifetime and a character",
            "struct B<'a>(&'a crate::c::C);",
            "f('{'); crate::d::f();",
            "use crate::b;",
        ),
    ] {
        assert_eq!(
            circles_of(&[lib, ("b.rs", b), ("c.rs", c), ("d.rs", d), ("e.rs", "")]),
            [CIRCLE],
            "{what}"
        );
    }
}

#[test]
fn other_uses_are_no_circle() {
    let (b, c) = (("b.rs", "use crate::c::C;"), ("c.rs", "use crate::d::D;"));
    for (what, d) in [
        ("another crate of that name", "use b::B; use a::b::B;"),
        ("a comment", "// use crate::b;\n/* crate::b::f() */ /// crate::b\n"),
        ("a text", "const A: &str = \"crate::b::f()\"; const B: &str = r#\"\"crate::b::f()\"#;"),
        ("a module for tests", "#[cfg(test)]\nmod tests { use crate::b::B; }"),
        ("a file for tests", "#[cfg(test)]\n#[path = \"e.rs\"]\nmod tests;"),
        ("a statement for tests", "fn f() { #[cfg(test)] if crate::b::f() { return; } }"),
        ("the last module uses the one before", "use crate::c::C;"),
    ] {
        let tests = ("d/tests.rs", "use crate::b::B;");
        let files = [("lib.rs", "mod b; mod c; mod d;"), b, c, ("d/mod.rs", d), tests];
        let files = if d.contains("mod tests;") { &files[..] } else { &files[..4] };
        assert_eq!(circles_of(files), [""; 0], "{what}");
    }
}

#[test]
fn parents_and_children_are_one_module() {
    let parent = ("b/mod.rs", "mod c; mod d; mod e; pub use c::C; use d::D;");
    let family =
        [parent, ("b/c.rs", "use super::D;"), ("b/d.rs", "use super::B;"), ("b/e.rs", "use super::C;")];
    assert_eq!(circles_of(&family), [""; 0]);
    let closed = [family[0], family[1], ("b/d.rs", "use super::e::E;"), family[3]];
    let names = "crates/a/src/b/c.rs, crates/a/src/b/d.rs, crates/a/src/b/e.rs";
    let uses = "b::c uses b::d; b::d uses b::e; b::e uses b::c";
    let what = format!("crates/a/src/b/c.rs: is in a circle of 3 modules: {names}; {uses}");
    assert_eq!(circles_of(&closed), [what]);
    // What a child uses, its parent uses as well.
    let below = [
        ("b/mod.rs", ""),
        ("b/x.rs", "use crate::c::C;"),
        ("c.rs", "use crate::d::D;"),
        ("d.rs", "use crate::b::x;"),
    ];
    assert!(circles_of(&below)[0].contains("circle of 3 modules: crates/a/src/b/mod.rs, crates/a/src/c.rs"));
}
