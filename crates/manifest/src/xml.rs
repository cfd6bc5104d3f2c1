//! XML elements and attributes of a manifest, with their offsets.
//!
//! This module checks well-formedness, on top of a tokenizer. Lookups search small sets, and nothing is compared with
//! everything else. Readers that build whole documents need hours for 16 MiB of attributes or of nested namespaces.

use std::borrow::Cow;
use std::collections::BTreeSet;

use xmlparser::{ElementEnd, StrSpan, Token, Tokenizer, XmlCharExt};

use crate::problem::shown;

/// Maximum depth of nested XML elements; a manifest has 8.
const DEPTH: usize = 64;

/// Maximum number of XML namespaces in scope; a manifest has about 5.
const NAMESPACES: usize = 64;

/// XML namespace of an element in a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// Namespace of event manifests, which contain the counters element.
    Events,
    /// Namespace of the counters element and its content.
    Counters,
    /// Any other XML namespace, or none.
    Other,
}

impl Namespace {
    pub const EVENTS: &str = "http://schemas.microsoft.com/win/2004/08/events";
    pub const COUNTERS: &str = "http://schemas.microsoft.com/win/2005/12/counters";

    fn from_uri(uri: &str) -> Self {
        match uri {
            Self::EVENTS => Self::Events,
            Self::COUNTERS => Self::Counters,
            _ => Self::Other,
        }
    }
}

/// XML element of a manifest. For elements of other namespaces only name and offset are stored.
#[derive(Debug)]
pub(crate) struct Element<'a> {
    pub namespace: Namespace,
    pub name: &'a str,
    /// Byte offset in the manifest of the element's start tag.
    pub offset: usize,
    pub attributes: Vec<Attribute<'a>>,
    pub children: Vec<Element<'a>>,
    /// Byte offset in the manifest of the element's first text that is not blank, if any.
    pub text: Option<usize>,
}

impl<'a> Element<'a> {
    /// Returns the element's attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Returns the byte offset in the manifest of an attribute's value, or of the element if the attribute is
    /// missing.
    pub fn offset(&self, name: &str) -> usize {
        self.attribute(name).map_or(self.offset, |attribute| attribute.value_offset)
    }
}

/// XML attribute whose name has no prefix.
#[derive(Debug)]
pub(crate) struct Attribute<'a> {
    pub name: &'a str,
    pub offset: usize,
    pub value: Cow<'a, str>,
    pub value_offset: usize,
}

/// Error for a text that is not valid XML, or has a document type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct XmlError {
    pub offset: usize,
    pub what: String,
    pub right: &'static str,
}

impl XmlError {
    fn new(offset: usize, what: impl Into<String>, right: &'static str) -> Self {
        Self { offset, what: what.into(), right }
    }
}

/// Qualified name: prefix and local name of an XML element or attribute; the prefix is empty if there is none.
type Qualified<'a> = (&'a str, &'a str);

/// XML element whose end tag has not been read yet.
struct Open<'a> {
    name: Qualified<'a>,
    element: Element<'a>,
    /// `true` if the content of the open element is stored.
    is_kept: bool,
    /// Number of XML namespaces in scope before the open element.
    namespaces: usize,
}

/// XML tag whose end has not been read yet.
struct Tag<'a> {
    name: Qualified<'a>,
    offset: usize,
    attribute_names: BTreeSet<Qualified<'a>>,
    attributes: Vec<(Qualified<'a>, Attribute<'a>)>,
}

/// Parses an XML text and returns its root element.
pub(crate) fn parse(text: &str) -> Result<Element<'_>, XmlError> {
    let mut reader = XmlReader { namespaces: Vec::new(), open: Vec::new(), root: None };
    let mut tag: Option<Tag<'_>> = None;
    let mut seen = 0;
    for token in Tokenizer::from(text) {
        let token = token.map_err(|error| syntax(text, seen, &error))?;
        let span = token.span();
        seen = span.end();
        match token {
            Token::ElementStart { prefix, local, span } => {
                let name = (prefix.as_str(), local.as_str());
                let offset = span.start();
                tag = Some(Tag { name, offset, attribute_names: BTreeSet::new(), attributes: Vec::new() });
            }
            Token::Attribute { prefix, local, value, span } => {
                let Some(tag) = &mut tag else { continue };
                let (name, offset) = ((prefix.as_str(), local.as_str()), span.start());
                // A set, because a hostile tag can have a million attributes.
                if !tag.attribute_names.insert(name) {
                    let what = format!("the attribute {} stands here twice", shown(name.1));
                    return Err(XmlError::new(offset, what, "once is enough"));
                }
                let (value, value_offset) = (resolved(value, true)?, value.start());
                tag.attributes.push((name, Attribute { name: name.1, offset, value, value_offset }));
            }
            Token::ElementEnd { end: ElementEnd::Close(prefix, local), span } => {
                reader.close((prefix.as_str(), local.as_str()), span.start())?;
            }
            Token::ElementEnd { end, .. } => {
                let Some(tag) = tag.take() else { continue };
                let name = tag.name;
                reader.open(tag)?;
                if end == ElementEnd::Empty {
                    reader.close(name, span.start())?;
                }
            }
            Token::Text { text } => {
                // The text is not needed, but an invalid reference in it makes the file ill-formed.
                let _ = resolved(text, false)?;
                reader.text(text);
            }
            Token::Cdata { text, .. } => reader.text(text),
            Token::DtdStart { span, .. } | Token::EmptyDtd { span, .. } => {
                let what = "a document type is not read: its entities could grow without end";
                return Err(XmlError::new(span.start(), what, "leave it out"));
            }
            Token::EntityDeclaration { .. } | Token::DtdEnd { .. } => {}
            Token::Declaration { .. } | Token::ProcessingInstruction { .. } | Token::Comment { .. } => {}
        }
    }
    reader.finish(text.len(), tag.map(|tag| tag.name.1))
}

struct XmlReader<'a> {
    /// XML namespace prefixes in scope and their namespaces, the innermost last.
    namespaces: Vec<(&'a str, Namespace)>,
    open: Vec<Open<'a>>,
    root: Option<Element<'a>>,
}

impl<'a> XmlReader<'a> {
    fn open(&mut self, tag: Tag<'a>) -> Result<(), XmlError> {
        let Tag { name, offset, attributes, .. } = tag;
        if self.open.len() >= DEPTH {
            return Err(XmlError::new(
                offset,
                format!("there are {DEPTH} elements around this one"),
                "a manifest has 8",
            ));
        }
        let namespaces = self.namespaces.len();
        // First, because a declaration is valid for its own tag, even for attributes before it.
        for ((prefix, local), attribute) in &attributes {
            let declared = match (*prefix, *local) {
                ("", "xmlns") => "",
                ("xmlns", prefix) => prefix,
                _ => continue,
            };
            if self.namespaces.len() >= NAMESPACES {
                let what = format!("there are {NAMESPACES} namespaces already");
                return Err(XmlError::new(attribute.offset, what, "a manifest has 5"));
            }
            self.namespaces.push((declared, Namespace::from_uri(&attribute.value)));
        }
        let namespace = self.namespace(name.0, offset)?;
        let mut kept = Vec::new();
        let parent = self.open.last();
        // An event manifest can be much larger than its counters. Other elements are checked and not stored.
        let is_path = match namespace {
            Namespace::Counters => true,
            Namespace::Events => matches!(name.1, "instrumentationManifest" | "instrumentation"),
            Namespace::Other => false,
        };
        let is_kept = is_path && parent.is_none_or(|parent| parent.is_kept);
        for ((prefix, local), attribute) in attributes {
            match (prefix, local) {
                ("", "xmlns") | ("xmlns", _) => {}
                ("", _) if is_kept => kept.push(attribute),
                ("", _) => {}
                // Attributes of other namespaces are ignored, but their prefix must be declared.
                (prefix, _) => {
                    self.namespace(prefix, attribute.offset)?;
                }
            }
        }
        let element =
            Element { namespace, name: name.1, offset, attributes: kept, children: Vec::new(), text: None };
        self.open.push(Open { name, element, is_kept, namespaces });
        Ok(())
    }

    fn namespace(&self, prefix: &str, at: usize) -> Result<Namespace, XmlError> {
        let known = self.namespaces.iter().rev().find(|(known, _)| *known == prefix);
        match (known, prefix) {
            (Some((_, namespace)), _) => Ok(*namespace),
            // XML declares the prefix `xml` itself.
            (None, "" | "xml") => Ok(Namespace::Other),
            (None, prefix) => {
                let what = format!("the prefix {} has no namespace", shown(prefix));
                Err(XmlError::new(at, what, "an xmlns attribute declares it"))
            }
        }
    }

    fn close(&mut self, name: Qualified<'a>, at: usize) -> Result<(), XmlError> {
        let full = |(prefix, local): Qualified<'_>| match prefix {
            "" => local.to_owned(),
            prefix => format!("{prefix}:{local}"),
        };
        let Some(open) = self.open.pop() else {
            return Err(XmlError::new(
                at,
                format!("nothing is open that {} could end", shown(&full(name))),
                "",
            ));
        };
        if open.name != name {
            let what = format!("{} does not end {}", shown(&full(name)), shown(&full(open.name)));
            return Err(XmlError::new(at, what, "what began last ends first"));
        }
        self.namespaces.truncate(open.namespaces);
        match self.open.last_mut() {
            None => self.root = Some(open.element),
            Some(parent) if parent.is_kept => parent.element.children.push(open.element),
            Some(_) => {}
        }
        Ok(())
    }

    fn text(&mut self, text: StrSpan<'a>) {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        if let (Some(open), Some(at)) = (self.open.last_mut(), text.as_str().find(|c| !blank(c))) {
            open.element.text.get_or_insert(text.start().saturating_add(at));
        }
    }

    fn finish(self, end: usize, tag: Option<&str>) -> Result<Element<'a>, XmlError> {
        let unfinished = tag.or(self.open.last().map(|open| open.name.1));
        match (unfinished, self.root) {
            (Some(name), _) => {
                Err(XmlError::new(end, format!("the file ends inside of {}", shown(name)), ""))
            }
            (None, None) => Err(XmlError::new(end, "there is no element", "a manifest is XML")),
            (None, Some(root)) => Ok(root),
        }
    }
}

/// Converts an error of the XML tokenizer to an [`XmlError`], with the byte offset of its position.
fn syntax(text: &str, seen: usize, error: &xmlparser::Error) -> XmlError {
    use xmlparser::Error as E;
    let (what, cause) = match error {
        E::InvalidDeclaration(cause, _) => ("the XML declaration", Some(cause)),
        E::InvalidComment(cause, _) => ("the comment", Some(cause)),
        E::InvalidPI(cause, _) => ("the processing instruction", Some(cause)),
        E::InvalidDoctype(cause, _) => ("the document type", Some(cause)),
        E::InvalidEntity(cause, _) => ("the entity", Some(cause)),
        E::InvalidElement(cause, _) => ("the element", Some(cause)),
        E::InvalidAttribute(cause, _) => ("the attribute", Some(cause)),
        E::InvalidCdata(cause, _) => ("the CDATA", Some(cause)),
        E::InvalidCharData(cause, _) => ("the text", Some(cause)),
        E::UnknownToken(_) => ("what follows here", None),
    };
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    XmlError::new(offset(text, seen, error.pos()), format!("{what} is not well-formed{cause}"), "")
}

/// Returns the byte offset of a line and column of the manifest's text; the result is at least `seen`.
fn offset(text: &str, seen: usize, place: xmlparser::TextPos) -> usize {
    let row = usize::try_from(place.row).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(place.col).unwrap_or(1).saturating_sub(1);
    let start = match row {
        0 => 0,
        row => text.match_indices('\n').nth(row.saturating_sub(1)).map_or(0, |(at, _)| at.saturating_add(1)),
    };
    let line = text.get(start..).unwrap_or_default();
    // The tokenizer counts characters, and offsets are bytes.
    let in_line = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    start.saturating_add(in_line).max(seen).min(text.len())
}

/// Resolves the character references in an XML text. In attributes, each kind of whitespace becomes a blank.
fn resolved(span: StrSpan<'_>, is_attribute: bool) -> Result<Cow<'_, str>, XmlError> {
    let raw = span.as_str();
    let is_plain = |c: char| c != '&' && !(is_attribute && matches!(c, '\t' | '\r' | '\n'));
    if raw.chars().all(is_plain) {
        return Ok(Cow::Borrowed(raw));
    }
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            // A line ending becomes a single character, whatever the platform.
            '\r' if matches!(chars.peek(), Some((_, '\n'))) => {}
            '\t' | '\r' | '\n' if is_attribute => out.push(' '),
            '&' => {
                const LONGEST: usize = 16;
                let rest = raw.get(at.saturating_add(1)..).unwrap_or_default();
                let name = rest.split_once(';').map(|(name, _)| name).filter(|name| name.len() <= LONGEST);
                let Some(c) = name.and_then(referred) else {
                    let place = span.start().saturating_add(at);
                    let what = format!("{} is no reference", shown(name.map_or("&", |name| name)));
                    let right = "&amp;, &lt;, &gt;, &quot;, &apos; and &#number; are";
                    return Err(XmlError::new(place, what, right));
                };
                out.push(c);
                for _ in name.unwrap_or_default().chars().chain([';']) {
                    chars.next();
                }
            }
            c => out.push(c),
        }
    }
    Ok(Cow::Owned(out))
}

/// Returns the character that an XML reference such as `amp` or `#x41` denotes.
fn referred(name: &str) -> Option<char> {
    let number = match (name, name.strip_prefix("#x"), name.strip_prefix('#')) {
        ("amp", ..) => return Some('&'),
        ("lt", ..) => return Some('<'),
        ("gt", ..) => return Some('>'),
        ("quot", ..) => return Some('"'),
        ("apos", ..) => return Some('\''),
        (_, Some(hex), _) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
            u32::from_str_radix(hex, 16).ok()?
        }
        (_, None, Some(digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    char::from_u32(number).filter(|c| is_xml_char(*c))
}

/// Returns `true` if XML permits the character.
pub(crate) fn is_xml_char(c: char) -> bool {
    XmlCharExt::is_xml_char(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (usize, String) {
        let error = parse(text).unwrap_err();
        (error.offset, error.what)
    }

    #[test]
    fn malformed_xml_is_rejected() {
        for (text, at, what) in [
            ("", 0, "there is no element"),
            ("  ", 2, "there is no element"),
            ("<a>", 3, "the file ends inside of \"a\""),
            ("<a b=''", 7, "the file ends inside of \"a\""),
            ("<a></b>", 3, "\"b\" does not end \"a\""),
            ("<x:a xmlns:x='1'></a>", 17, "\"a\" does not end \"x:a\""),
            ("<a b='1' b='2'/>", 9, "the attribute \"b\" stands here twice"),
            ("<a b='&nbsp;'/>", 6, "\"nbsp\" is no reference"),
            ("<a b='1&2'/>", 7, "\"&\" is no reference"),
            ("<a b='&#0;'/>", 6, "\"#0\" is no reference"),
            ("<a b='&#xD800;'/>", 6, "\"#xD800\" is no reference"),
            ("<a b='&#+9;'/>", 6, "\"#+9\" is no reference"),
            ("<a>\n&x;</a>", 4, "\"x\" is no reference"),
            ("<p:a/>", 0, "the prefix \"p\" has no namespace"),
            ("<a p:b=''/>", 3, "the prefix \"p\" has no namespace"),
            ("<a/><b/>", 4, "what follows here is not well-formed"),
            ("<!DOCTYPE a><a/>", 0, "a document type is not read: its entities could grow without end"),
            (
                "<!DOCTYPE a [<!ENTITY b '&c;&c;'>]><a/>",
                0,
                "a document type is not read: its entities could grow without end",
            ),
        ] {
            assert_eq!(error(text), (at, what.to_owned()), "{text}");
        }
        assert!(error("<a\n b='<'/>").1.starts_with("the attribute is not well-formed: "));
        assert!(error("<a>\u{1}</a>").1.starts_with("the text is not well-formed: "));
    }

    #[test]
    fn depth_and_namespaces_end() {
        let nested = |count: usize| format!("{}{}", "<a>".repeat(count), "</a>".repeat(count));
        assert!(parse(&nested(DEPTH)).is_ok());
        assert_eq!(error(&nested(DEPTH + 1)), (3 * DEPTH, "there are 64 elements around this one".into()));
        assert!(parse(&nested(1_000_000)).is_err());
        let declared = |count| (0..count).map(|i| format!(" xmlns:p{i}='u'")).collect::<String>();
        assert!(parse(&format!("<a{}/>", declared(NAMESPACES))).is_ok());
        assert_eq!(error(&format!("<a{}/>", declared(NAMESPACES + 1))).1, "there are 64 namespaces already");
        // They are gone with their element.
        let after = format!("<a>{}</a>", format!("<b{}/>", declared(40)).repeat(10));
        assert!(parse(&after).is_ok());
        assert_eq!(error("<a><b xmlns:p='u'/><p:c/></a>").1, "the prefix \"p\" has no namespace");
    }

    #[test]
    fn many_attributes_take_no_long_time() {
        let many: String = (0..200_000).map(|i| format!(" a{i}=''")).collect();
        let many = format!("<counters xmlns='{}'{many}/>", Namespace::COUNTERS);
        assert_eq!(parse(&many).unwrap().attributes.len(), 200_000);
    }

    #[test]
    fn namespaces_and_what_is_kept() {
        let text = format!(
            "<instrumentationManifest xmlns='{}' xmlns:c='{}' xml:lang='en'><instrumentation a='1'>
             <events b='2'><provider d='3'/></events>
             <c:counters e='&lt;&#x41;\t&#9;' c:f='5'>text<x/></c:counters></instrumentation><y z='6'/>
             </instrumentationManifest>",
            Namespace::EVENTS,
            Namespace::COUNTERS
        );
        let root = parse(&text).unwrap();
        assert_eq!(
            (root.namespace, root.name, root.attributes.len()),
            (Namespace::Events, "instrumentationManifest", 0)
        );
        let [instrumentation, foreign] = &root.children[..] else { panic!() };
        assert_eq!((foreign.name, foreign.attributes.len()), ("y", 0));
        let [events, counters] = &instrumentation.children[..] else { panic!() };
        assert_eq!((events.name, events.attributes.len(), events.children.len()), ("events", 0, 0));
        assert_eq!((counters.namespace, counters.attributes.len()), (Namespace::Counters, 1));
        let attribute = counters.attribute("e").unwrap();
        assert_eq!(attribute.value, "<A \t");
        assert_eq!(&text[attribute.value_offset..][..4], "&lt;");
        assert_eq!(&text[counters.text.unwrap()..][..4], "text");
        assert_eq!((counters.children[0].name, counters.children[0].namespace), ("x", Namespace::Events));
        assert!(instrumentation.text.is_none());
    }

    #[test]
    fn lines_end_with_one_character() {
        let root =
            parse("<a xmlns='http://schemas.microsoft.com/win/2005/12/counters' b='1\r\n2\n3&#13;&#10;'/>")
                .unwrap();
        assert_eq!(root.attribute("b").unwrap().value, "1 2 3\r\n");
    }
}
