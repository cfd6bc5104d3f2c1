//! Secret token that gives clients access.

use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

/// Secret token that clients must know. Never shown by `Debug`.
#[derive(Clone)]
pub struct Token {
    secret: String,
    is_random: bool,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Reason why a token cannot be read or created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Error for a token file that cannot be read.
    #[error("the token file cannot be read")]
    Unreadable(#[from] std::io::Error),
    /// Error for a token file that other users may read or change, with the file's mode.
    #[error("the file has mode {0:03o}, so other users may open it: run chmod 600")]
    Open(u32),
    /// Error for a token file of another user, with the id of that user.
    #[error("the file belongs to user {0}; it must belong to this user or root")]
    Foreign(u32),
    /// Error for a path of the token that leads to a directory, a FIFO or a device. The token is not read from these:
    /// a FIFO may never get a writer.
    #[error("the path is not a regular file: write the token to a regular file with mode 600")]
    NotAFile,
    /// Error for a text that is not a valid token.
    #[error("a token has {least} to {most} letters, digits, - and _", least = Token::LEAST, most = Token::MOST)]
    NotAToken,
    /// Error of a system that returns no random numbers for a token.
    #[error("the system returned no random numbers: {0}")]
    NoRandom(String),
}

impl Token {
    const LEAST: usize = 16;
    const MOST: usize = 512;

    /// Creates a random token of 192 bits.
    ///
    /// # Errors
    /// [`TokenError::NoRandom`].
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0_u8; 24];
        getrandom::fill(&mut bytes).map_err(|error| TokenError::NoRandom(error.to_string()))?;
        let mut text = String::new();
        for byte in bytes {
            let _ = write!(text, "{byte:02x}"); // a String takes everything
        }
        Ok(Self { secret: text, is_random: true })
    }

    /// Reads the token from a file that only its owner may open; the owner is the user of this process, or root.
    ///
    /// # Errors
    /// If the file cannot be read, other users may open it, or it contains no token.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        let file = open(path)?;
        let about = file.metadata()?; // of the file that is open, not of what has its name now
        if !about.is_file() {
            return Err(TokenError::NotAFile);
        }
        only_for_its_owner(&about)?;
        let mut text = String::new();
        // Two bytes more than a token, for its line end; a longer text is refused by its length.
        let most = u64::try_from(Self::MOST).unwrap_or(u64::MAX).saturating_add(2);
        file.take(most).read_to_string(&mut text)?;
        text.parse()
    }

    /// Returns `true` if a text is the token. The comparison takes the same time for all texts of the token's length.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        let (own, other) = (self.secret.as_bytes(), text.as_bytes());
        // All bytes are compared: the time of a comparison that stops early reveals how many were right.
        let differing = own.iter().zip(other).fold(0_u8, |all, (a, b)| all | (a ^ b));
        own.len() == other.len() && std::hint::black_box(differing) == 0
    }

    /// Returns the text of the token: for the address that is shown to the server's owner, and for logins.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns `true` if the token was created at random, and is valid for this server only.
    pub(crate) fn is_random(&self) -> bool {
        self.is_random
    }
}

/// Opens the file of a token for reading. Unlike [`File::open`] this does not wait for the writer of a FIFO, and a
/// terminal does not become that of this process.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    Ok(rustix::fs::open(path, flags, Mode::empty()).map(File::from)?)
}

/// Opens the file of a token for reading.
#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Returns an error unless only the owner of the token's file may open it, and the owner is this process's user or
/// root.
#[cfg(unix)]
fn only_for_its_owner(about: &Metadata) -> Result<(), TokenError> {
    use std::os::unix::fs::MetadataExt;
    if about.mode() & 0o077 != 0 {
        return Err(TokenError::Open(about.mode() & 0o777));
    }
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != own && about.uid() != 0 {
        return Err(TokenError::Foreign(about.uid()));
    }
    Ok(())
}

/// Checks nothing: the permissions of a file are not checked on systems other than Unix, as `docs/windows.md` states.
#[cfg(not(unix))]
fn only_for_its_owner(_: &Metadata) -> Result<(), TokenError> {
    Ok(())
}

impl std::str::FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match (Self::LEAST..=Self::MOST).contains(&text.len()) && text.chars().all(fits) {
            true => Ok(Self { secret: text.to_owned(), is_random: false }),
            false => Err(TokenError::NotAToken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token: Token = "0123456789abcdef".parse().unwrap();
        for (text, want) in [
            ("0123456789abcdef", true),
            ("0123456789abcdeF", false),
            ("0123456789abcde", false),
            ("0123456789abcdef0", false),
            ("", false),
        ] {
            assert_eq!(token.is(text), want, "{text}");
        }
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn random_tokens_differ() {
        let (a, b) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(a.secret().len(), 48);
        assert!(!a.is(b.secret()) && a.is(a.secret()));
        assert!(a.secret().parse::<Token>().is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn files_are_for_their_owner_alone() {
        let path = std::env::temp_dir().join(format!("perfset-token-{}", std::process::id()));
        for (mode, text, want) in [
            (0o600, "0123456789abcdef\n", "ok"),
            (0o400, "  0123456789-_cdef", "ok"),
            (0o640, "0123456789abcdef", "the file has mode 640, so other users may open it: run chmod 600"),
            (0o604, "0123456789abcdef", "the file has mode 604, so other users may open it: run chmod 600"),
            (0o600, "short", "a token has 16 to 512 letters, digits, - and _"),
            (0o600, "0123456789abcdef; Path=/", "a token has 16 to 512 letters, digits, - and _"),
            (0o600, &"x".repeat(600), "a token has 16 to 512 letters, digits, - and _"),
        ] {
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let got = Token::from_file(&path).map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert_eq!(got, want, "{mode:o} {text:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Token::from_file(&path), Err(TokenError::Unreadable(_))));
        assert!(matches!(Token::from_file(&std::env::temp_dir()), Err(TokenError::NotAFile)));
        assert!(matches!(Token::from_file(Path::new("/dev/null")), Err(TokenError::NotAFile)));
    }

    /// Checks that a FIFO as token file is refused at once, without a writer and with one that writes nothing.
    /// Another thread runs the test, because a defect would wait forever.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_fifo_is_refused_at_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let path = std::env::temp_dir().join(format!("perfset-token-fifo-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let read = |path: std::path::PathBuf| {
            let (sender, result) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                sender.send(Token::from_file(&path).map_err(|error| error.to_string()))
            });
            result.recv_timeout(std::time::Duration::from_secs(10))
        };
        let want = "the path is not a regular file: write the token to a regular file with mode 600";
        assert_eq!(read(path.clone()).expect("it waits for a writer").unwrap_err(), want);
        let writer = File::options().read(true).write(true).open(&path).unwrap();
        assert_eq!(read(path.clone()).expect("it waits for what is written").unwrap_err(), want);
        drop(writer);
        std::fs::remove_file(&path).unwrap();
    }
}
