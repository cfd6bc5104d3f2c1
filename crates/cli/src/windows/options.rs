//! Parser for the command lines of the imitated Windows tools typeperf and relog.

use std::collections::HashMap;
use std::path::Path;

use super::usage;
use perfset::output::text::escaped;

use crate::exit::Failure;
use crate::input;

/// Number of values that an option of a Windows tool takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgCount {
    None,
    One,
    /// Number of values of an option with no value or one.
    Perhaps,
    /// Number of values of an option that takes all words up to the next option.
    Many,
}

/// Options and operands of a Windows tool's command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ParsedOptions {
    values: HashMap<&'static str, Vec<String>>,
    pub operands: Vec<String>,
}

impl ParsedOptions {
    /// Parses a command line of a Windows tool. `known` contains the names of all options, in lowercase.
    ///
    /// An argument that begins with `/` and is not the name of an option is an operand: it might be a path.
    /// `-config FILE` is replaced by the arguments in that file. There, an operand `i` or `-i` stands for the operands
    /// of the command line.
    pub fn parse(args: Vec<String>, known: &'static [(&'static str, ArgCount)]) -> Result<Self, Failure> {
        let mut options = Self::default();
        options.take(args, known, true)?;
        Ok(options)
    }

    fn take(
        &mut self,
        args: Vec<String>,
        known: &'static [(&'static str, ArgCount)],
        may_configure: bool,
    ) -> Result<(), Failure> {
        let option_of = |arg: &str| {
            let name = arg.strip_prefix(['/', '-'])?.to_lowercase();
            known.iter().find(|(option, _)| *option == name)
        };
        let mut args = args.into_iter().peekable();
        while let Some(arg) = args.next() {
            let Some((name, takes)) = option_of(&arg) else {
                let is_place = !may_configure && arg == "-i";
                if arg.starts_with('-') && arg.len() > 1 && !is_place {
                    return Err(usage(format!("unknown option \"{}\"; -? lists all options", escaped(&arg))));
                }
                self.operands.push(arg);
                continue;
            };
            let mut next = || args.next_if(|next| option_of(next).is_none());
            let values: Vec<String> = match takes {
                ArgCount::None => Vec::new(),
                ArgCount::One => match next() {
                    Some(value) => vec![value],
                    None => return Err(usage(format!("-{name} needs a value; -? shows how"))),
                },
                ArgCount::Perhaps => next().into_iter().collect(),
                ArgCount::Many => std::iter::from_fn(next).collect(),
            };
            if *name == "config" {
                // A file that names itself would be read without end.
                let (Some(file), true) = (values.first(), may_configure) else {
                    return Err(usage("a configuration cannot name another one"));
                };
                let bytes = input::read_small(Path::new(file), "configuration file")?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                self.take(words(&text), known, false)?;
                // The operands of the command line are stored already, so the placeholder "i" is removed.
                self.operands.retain(|operand| operand != "i" && operand != "-i");
                continue;
            }
            self.values.entry(name).or_default().extend(values);
        }
        Ok(())
    }

    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Returns the value of a Windows tool's option; the last one, if it is given several times.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(name).last().map(String::as_str)
    }

    pub fn values(&self, name: &str) -> &[String] {
        self.values.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Splits the text of a Windows command line into words, at blanks outside of double quotes.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    for c in text.chars() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[(&str, ArgCount)] = &[
        ("y", ArgCount::None),
        ("f", ArgCount::One),
        ("q", ArgCount::Perhaps),
        ("c", ArgCount::Many),
        ("config", ArgCount::One),
    ];

    fn parsed(args: &[&str]) -> Result<String, String> {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let options = ParsedOptions::parse(args, KNOWN).map_err(|failure| failure.error.to_string())?;
        let mut all: Vec<_> =
            options.values.iter().map(|(name, values)| format!("{name}{values:?}")).collect();
        all.sort();
        Ok(format!("{} {:?}", all.join(" "), options.operands))
    }

    #[test]
    fn command_lines() {
        for (args, want) in [
            (&["/f", "csv", "a"][..], r#"f["csv"] ["a"]"#),
            (&["-F", "csv", "-Y"], r#"f["csv"] y[] []"#),
            (&["/tmp/y", "/y"], r#"y[] ["/tmp/y"]"#),
            (&["/c", "a", r"\b(*)\c", "/y"], r#"c["a", "\\b(*)\\c"] y[] []"#),
            (&["/q", "/y"], "q[] y[] []"),
            (&["/q", "Processor"], r#"q["Processor"] []"#),
            (&["/c", "a", "/c", "b"], r#"c["a", "b"] []"#),
        ] {
            assert_eq!(parsed(args).unwrap().trim_start(), want, "{args:?}");
        }
        assert!(parsed(&["/f"]).unwrap_err().contains("-f needs a value"));
        assert!(parsed(&["-zz"]).unwrap_err().contains("unknown option \"-zz\""));
        assert!(parsed(&["-config", "/nowhere/at/all"]).unwrap_err().contains("cannot read"));
    }

    #[test]
    fn words_of_a_configuration() {
        assert_eq!(words("-f csv\r\n-c \"\\A(b c)\\D e\" \"\"\n"), ["-f", "csv", "-c", "\\A(b c)\\D e", ""]);
    }
}
