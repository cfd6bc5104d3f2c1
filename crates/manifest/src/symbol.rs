//! C and Rust identifiers derived from counter names.

/// Splits a counter name into words: `% User Time` is percent, User, Time; `Interrupts/sec` is Interrupts, per, sec.
pub fn words(name: &str) -> Vec<String> {
    let spelled = name.replace('%', " percent ").replace("/sec", " per sec");
    let words = spelled.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Returns the name of a constant for a counter name: `% User Time` becomes `PERCENT_USER_TIME`.
pub fn constant(name: &str) -> String {
    words(name).join("_").to_ascii_uppercase()
}

/// Returns the name of a type or of a C variable for a counter name: `% User Time` becomes `PercentUserTime`. Upper
/// case within a word is kept.
#[allow(dead_code, reason = "the catalogue has constants only")]
pub fn camel(name: &str) -> String {
    let capital = |word: &String| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect::<String>()
    };
    words(name).iter().map(capital).collect()
}

/// Returns `true` if a name is reserved in C or C++.
#[allow(dead_code, reason = "the catalogue's names are longer")]
pub fn is_word_of_c(name: &str) -> bool {
    const WORDS: &str = " \
        alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t \
        char8_t class compl concept const const_cast consteval constexpr constinit continue co_await \
        co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern \
        false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr \
        operator or or_eq private protected public register reinterpret_cast requires restrict return short \
        signed sizeof static static_assert static_cast struct switch template this thread_local throw true \
        try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq ";
    !name.is_empty() && !name.contains(' ') && WORDS.contains(&format!(" {name} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, upper, joined) in [
            ("% User Time", "PERCENT_USER_TIME", "PercentUserTime"),
            ("Interrupts/sec", "INTERRUPTS_PER_SEC", "InterruptsPerSec"),
            ("Avg. Disk sec/Read", "AVG_DISK_SEC_READ", "AvgDiskSecRead"),
            ("TCPv4", "TCPV4", "TCPv4"),
            ("größe", "GR_E", "GrE"),
            ("中", "", ""),
        ] {
            assert_eq!((constant(name).as_str(), camel(name).as_str()), (upper, joined));
        }
    }

    #[test]
    fn words_of_c() {
        for (name, is) in [
            ("int", true),
            ("typeid", true),
            ("Int", false),
            ("in", false),
            ("", false),
            ("do double", false),
        ] {
            assert_eq!(is_word_of_c(name), is, "{name}");
        }
    }
}
