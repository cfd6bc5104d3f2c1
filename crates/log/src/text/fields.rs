//! Fields of a line of a text log, separated by commas or tabs.

use memchr::memchr;

/// Field of a line of a text log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Text of the field without the enclosing quotes. Doubled quotes are not replaced.
    pub text: &'a [u8],
    /// Byte offset of the field in its line; an opening quote is part of the field.
    pub offset: usize,
    /// Form of the quotes around the field.
    pub form: Quoting,
}

/// Form of the quotes around a field of a text log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// Field without quotes; enclosing blanks are not part of the field.
    Bare,
    /// Field with a quote before and after it.
    Quoted,
    /// Field with an opening quote, without a closing quote before the end of the line.
    Open,
}

/// Iterator over the fields of a line of a text log.
///
/// A quote ends a field only before a separator or the end of the line. All other quotes, doubled ones included, are
/// text, because no document defines a rule for quotes in names.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    line: &'a [u8],
    separator: u8,
    /// Offset in the line of the next field; `None` after the last one.
    next_offset: Option<usize>,
}

impl<'a> Fields<'a> {
    /// Creates an iterator over the fields of a text log's line. Every line has at least one field.
    pub fn new(line: &'a [u8], separator: u8) -> Self {
        Self { line, separator, next_offset: Some(0) }
    }

    /// Returns `true` if the line has no more fields.
    pub fn is_at_end(&self) -> bool {
        self.next_offset.is_none()
    }

    /// Parses the text of a field after its opening quote. Returns the field, the number of bytes including the
    /// closing quote, and the quoting.
    fn quoted(&self, rest: &'a [u8]) -> (&'a [u8], usize, Quoting) {
        let mut from = 0_usize;
        while let Some(found) = rest.get(from..).and_then(|rest| memchr(b'"', rest)) {
            let (text, behind) = rest.split_at_checked(from.saturating_add(found)).unwrap_or((rest, &[]));
            // A name may contain quotes, which Windows does not double. Only a quote before a separator can
            // end a field.
            match behind.get(1) {
                Some(b'"') => from = text.len().saturating_add(2),
                Some(byte) if *byte != self.separator => from = text.len().saturating_add(1),
                _ => return (text, text.len().saturating_add(1), Quoting::Quoted),
            }
        }
        (rest, rest.len(), Quoting::Open)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let offset = self.next_offset.take()?;
        let rest = self.line.get(offset..)?;
        let (text, len, form) = match rest.split_first() {
            Some((b'"', rest)) => {
                let (text, len, form) = self.quoted(rest);
                (text, len.saturating_add(1), form)
            }
            _ => {
                let len = memchr(self.separator, rest).unwrap_or(rest.len());
                (rest.get(..len)?.trim_ascii(), len, Quoting::Bare)
            }
        };
        // Only a separator can follow.
        self.next_offset = (len < rest.len()).then(|| offset.saturating_add(len).saturating_add(1));
        Some(Field { text, offset, form })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_lines() {
        use Quoting::{Bare, Open, Quoted};
        for (name, line, want) in [
            ("quoted", r#""a","bc""#, &[("a", 0, Quoted), ("bc", 4, Quoted)][..]),
            ("bare", "a, bc ", &[("a", 0, Bare), ("bc", 2, Bare)]),
            ("nothing", "", &[("", 0, Bare)]),
            ("empty", r#""",,"""#, &[("", 0, Quoted), ("", 3, Bare), ("", 4, Quoted)]),
            ("separator at the end", r#""a","#, &[("a", 0, Quoted), ("", 4, Bare)]),
            ("separator inside", r#""0,1","b""#, &[("0,1", 0, Quoted), ("b", 6, Quoted)]),
            ("blank", r#"" ","b""#, &[(" ", 0, Quoted), ("b", 4, Quoted)]),
            ("written twice", r#""a""b","c""#, &[(r#"a""b"#, 0, Quoted), ("c", 7, Quoted)]),
            ("only one", r#""""","c""#, &[(r#""""#, 0, Quoted), ("c", 5, Quoted)]),
            ("in the middle", r#""a"b","c""#, &[(r#"a"b"#, 0, Quoted), ("c", 6, Quoted)]),
            ("in a bare one", r#"a"b,c"#, &[(r#"a"b"#, 0, Bare), ("c", 4, Bare)]),
            ("open", r#""a","bc"#, &[("a", 0, Quoted), ("bc", 4, Open)]),
            ("open and empty", r#""a",""#, &[("a", 0, Quoted), ("", 4, Open)]),
            ("open behind two", r#""a"""#, &[(r#"a"""#, 0, Open)]),
        ] {
            let fields: Vec<_> = Fields::new(line.as_bytes(), b',')
                .map(|field| (std::str::from_utf8(field.text).unwrap(), field.offset, field.form))
                .collect();
            assert_eq!(fields, want, "{name}");
        }
    }
}
