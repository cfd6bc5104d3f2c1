//! Decoder for the bytes of a manifest: UTF-8, UTF-16 or the encoding in the XML declaration.

use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::model::Manifest;
use crate::problem::shown;

const MOST: usize = Manifest::BYTES_MAX;

/// Error for bytes of a manifest that are not valid in their encoding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodeError {
    /// Text of the manifest decoded before the invalid bytes.
    pub before: String,
    pub what: String,
    pub right: String,
}

/// Decodes the bytes of a manifest file to text without a byte order mark.
pub(crate) fn decode(bytes: &[u8]) -> Result<String, DecodeError> {
    let wrong = |before, what, right: &str| DecodeError { before, what, right: right.to_owned() };
    if bytes.len() > MOST {
        let what = format!("the file has more than {MOST} bytes");
        return Err(wrong(String::new(), what, "no manifest has so many"));
    }
    // A declaration can be read only as ASCII, so the mark and the bytes of the first `<` decide before it.
    let encoding = match (Encoding::for_bom(bytes), bytes) {
        (Some((encoding, _)), _) => encoding,
        (None, [b'<', 0, ..]) => UTF_16LE,
        (None, [0, b'<', ..]) => UTF_16BE,
        (None, _) => match declared(bytes) {
            None => UTF_8,
            Some(label) => match Encoding::for_label(label.as_bytes()) {
                Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => {
                    let what = format!("the declaration says {label}, but a character has one byte");
                    return Err(wrong(String::new(), what, "say utf-8"));
                }
                Some(encoding) => encoding,
                None => {
                    let what = format!("the encoding {} is unknown", shown(&label));
                    return Err(wrong(String::new(), what, "utf-8 and utf-16 are usual"));
                }
            },
        },
    };
    let mut decoder = encoding.new_decoder_with_bom_removal();
    // Room for the worst case, in some encodings three times the file; the rest is given back below.
    let most = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(0);
    let mut text = String::with_capacity(most);
    match decoder.decode_to_string_without_replacement(bytes, &mut text, true) {
        (DecoderResult::InputEmpty, _) => {
            text.shrink_to_fit();
            Ok(text)
        }
        _ => {
            let what = format!("this is not {}", encoding.name());
            Err(wrong(text, what, "save the file as utf-8, or have the declaration say what it is"))
        }
    }
}

/// Returns the encoding that a manifest's XML declaration names, if the declaration is ASCII.
fn declared(bytes: &[u8]) -> Option<String> {
    const MOST: usize = 256;
    // A declaration is shorter. The rest of a large file must not be searched for its end.
    let head = bytes.get(..bytes.len().min(MOST))?;
    let head: String = head.iter().map(|byte| char::from(*byte)).collect();
    let declaration = head.strip_prefix("<?xml")?.split_once("?>")?.0;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let label = value.get(1..)?.split_once(quote)?.0;
    Some(label.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings() {
        let utf16 = |text: &str, big: bool| -> Vec<u8> {
            text.encode_utf16()
                .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect()
        };
        let text = "<?xml version='1.0' encoding='utf-16'?><a/>é";
        for bytes in [utf16(text, false), utf16(text, true)] {
            assert_eq!(decode(&bytes).unwrap(), text);
        }
        for big in [false, true] {
            assert_eq!(decode(&utf16("\u{FEFF}é", big)).unwrap(), "é");
        }
        for (bytes, want) in [
            (&b""[..], ""),
            (b"\xEF\xBB\xBFx", "x"),
            ("é".as_bytes(), "é"),
            (
                b"<?xml version='1.0' encoding = \"windows-1252\" ?>\xE9",
                "<?xml version='1.0' encoding = \"windows-1252\" ?>é",
            ),
        ] {
            assert_eq!(decode(bytes).unwrap(), want);
        }
    }

    #[test]
    fn undecodable_bytes_are_rejected() {
        for (bytes, before, what) in [
            (&b"ab\xFFc"[..], "ab", "this is not UTF-8"),
            (b"\xFF\xFEa\0\0\xD8", "a", "this is not UTF-16LE"),
            (b"\xFF\xFEa\0b", "a", "this is not UTF-16LE"),
            (b"<?xml encoding='utf-16'?>", "", "the declaration says utf-16, but a character has one byte"),
            (b"<?xml encoding='klingon'?>", "", "the encoding \"klingon\" is unknown"),
        ] {
            let error = decode(bytes).unwrap_err();
            assert_eq!((error.before.as_str(), error.what.as_str()), (before, what));
        }
        let error = decode(&vec![b' '; MOST + 1]).unwrap_err();
        assert_eq!(error.what, "the file has more than 16777216 bytes");
        assert!(decode(&vec![b' '; MOST]).is_ok());
    }
}
