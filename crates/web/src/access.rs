//! Who may ask: hosts, sizes, origins, the token; and what every answer says to browsers.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, REFERRER_POLICY,
    SET_COOKIE, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use crate::answer::Problem;
use crate::request::without;
use crate::token::Token;

/// The longest path and query.
const URL_LEN_MOST: usize = 16 << 10;

/// What every answer says: scripts, styles and data come from here alone, nobody shows it in a frame, nobody guesses.
const SAID: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("x-frame-options"), "DENY"),
];

/// Who may ask.
#[derive(Debug)]
pub struct Access {
    /// Names under which the server is known, besides those of loopback and the addresses asked.
    pub hosts: Vec<String>,
    /// What readers must know.
    pub token: Option<Token>,
}

/// The parts of a request that say whether it may be answered.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    /// The address of ours that was connected to.
    pub local: SocketAddr,
}

impl Access {
    /// Whether a request may be answered; else what it gets instead.
    pub fn check(&self, asked: Asked<'_>) -> Result<(), Box<Response>> {
        let refused = |problem: Problem| Box::new(problem.into_response());
        self.check_form(asked).map_err(refused)?;
        let query = asked.uri.query().unwrap_or_default();
        let (rest, given) = without(query, "token");
        if let Some(given) = given.first() {
            return match &self.token {
                Some(token) if !token.is(given) => Err(refused(no_token())),
                token => Err(Box::new(to_the_same(asked, &rest, token.as_ref()))),
            };
        }
        match &self.token {
            Some(token) if asked.uri.path() != "/healthz" && !has(token, asked) => Err(refused(no_token())),
            _ => Ok(()),
        }
    }

    fn check_form(&self, Asked { uri, headers, local }: Asked<'_>) -> Result<(), Problem> {
        let is_long = uri.path_and_query().is_some_and(|text| text.as_str().len() > URL_LEN_MOST);
        if is_long {
            let text = format!("the address is longer than {URL_LEN_MOST} bytes");
            return Err(Problem::new(StatusCode::URI_TOO_LONG, text));
        }
        let has_length = headers.get(CONTENT_LENGTH).is_some_and(|len| len.as_bytes() != b"0");
        if has_length || headers.contains_key(TRANSFER_ENCODING) {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "no request here has a body"));
        }
        let host = host_of(uri, headers)?;
        if !self.is_ours(&host, local.ip()) {
            let text = format!("this server is not known as \"{}\"", host.escape_debug());
            let hint = "perfset serve --host NAME lets it be called so";
            return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, text).hint(hint));
        }
        // Pages of others may lead to this one; they must not use it behind its reader's back.
        let fetch = |name| headers.get(name).map(HeaderValue::as_bytes);
        let is_theirs = matches!(fetch("sec-fetch-site"), Some(b"cross-site" | b"same-site"));
        // A link is followed by the reader, who sees where it leads.
        let is_link = fetch("sec-fetch-mode") == Some(b"navigate")
            && matches!(fetch("sec-fetch-dest"), None | Some(b"document"));
        if uri.path() != "/" && is_theirs && !is_link {
            return Err(Problem::new(StatusCode::FORBIDDEN, "pages of other sites get nothing here"));
        }
        Ok(())
    }

    /// Whether a host is one of ours. Who was led here by a name of somebody else's asks for that name.
    fn is_ours(&self, host: &str, local: IpAddr) -> bool {
        let host = plain(host);
        let local = local.to_canonical();
        let is_local = match host.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical() == local || ip.is_loopback() && local.is_loopback(),
            Err(_) => host.eq_ignore_ascii_case("localhost") && local.is_loopback(),
        };
        is_local || self.hosts.iter().any(|name| plain(name).eq_ignore_ascii_case(host))
    }
}

/// A host without what may stand around it: the brackets of an address, the point behind a name.
fn plain(host: &str) -> &str {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.strip_suffix('.').unwrap_or(bare)
}

/// The host that a request names, without its port.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Result<String, Problem> {
    let bad = |text: &str| Problem::new(StatusCode::BAD_REQUEST, text);
    let mut named = headers.get_all(HOST).iter();
    let authority = match (named.next(), named.next()) {
        (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        (None, _) => return Err(bad("the request has no Host")),
        (Some(_), Some(_)) => return Err(bad("the request has several Hosts")),
    };
    let authority = authority.filter(|authority| !authority.as_str().contains('@'));
    let host = authority.ok_or_else(|| bad("the request's Host is not a host"))?.host().to_owned();
    match uri.host() {
        Some(other) if !other.eq_ignore_ascii_case(&host) => Err(bad("the request names two hosts")),
        _ => Ok(host),
    }
}

/// Whether a request has the token: as a bearer, or in the cookie that it was given.
fn has(token: &Token, asked: Asked<'_>) -> bool {
    let texts =
        |name| asked.headers.get_all(name).iter().filter_map(|value: &HeaderValue| value.to_str().ok());
    let bearer = texts(AUTHORIZATION).any(|text| {
        let (scheme, given) = text.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && token.is(given.trim())
    });
    let own = cookie_name(asked.local);
    let is_own = |cookie: &str| {
        cookie.trim().split_once('=').is_some_and(|(name, given)| name == own && token.is(given))
    };
    bearer || texts(COOKIE).flat_map(|text| text.split(';')).any(is_own)
}

/// Cookies are of a host, whatever its ports: each server has a name for its own.
fn cookie_name(local: SocketAddr) -> String {
    format!("perfset-{}", local.port())
}

fn no_token() -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "a token is asked")
        .hint("open the address with ?token= that perfset serve printed")
        .hint("programs send Authorization: Bearer TOKEN")
}

/// Leads to the same address without the token, which is a cookie from now on.
fn to_the_same(asked: Asked<'_>, query: &str, token: Option<&Token>) -> Response {
    // A path that begins with two slashes would lead to another host.
    let path = format!("/{}", asked.uri.path().trim_start_matches('/'));
    let to = if query.is_empty() { path } else { format!("{path}?{query}") };
    let mut headers = HeaderMap::new();
    headers.insert(LOCATION, HeaderValue::from_str(&to).unwrap_or(HeaderValue::from_static("/")));
    let cookie = token.map(|token| {
        format!("{}={}; Path=/; HttpOnly; SameSite=Lax", cookie_name(asked.local), token.secret())
    });
    if let Some(mut cookie) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        cookie.set_sensitive(true);
        headers.insert(SET_COOKIE, cookie);
    }
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// Adds what every answer says.
pub fn say(headers: &mut HeaderMap) {
    for (name, value) in SAID {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Whether this process may do more than an ordinary user: it is root, or has capabilities. Then what it shows may be
/// more than its readers may see by themselves.
#[must_use]
#[cfg(unix)]
pub fn is_privileged() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    rustix::process::geteuid().is_root() || has_capabilities(&status)
}

/// Whether this process may do more than an ordinary user. Elsewhere than on Unix that is not found out, and taken for
/// true.
#[must_use]
#[cfg(not(unix))]
pub fn is_privileged() -> bool {
    true
}

/// Whether the text of `/proc/PID/status` names an effective capability. One that does not say has some.
#[cfg(any(unix, test))]
fn has_capabilities(status: &str) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()) != Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn status(access: &Access, uri: &str, headers: &[(&str, &str)]) -> (u16, Option<HeaderMap>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let local = "127.0.0.1:9182".parse().unwrap();
        match access.check(Asked { uri: &uri.parse().unwrap(), headers: &map, local }) {
            Ok(()) => (200, None),
            Err(answer) => (answer.status().as_u16(), Some(answer.headers().clone())),
        }
    }

    #[test]
    fn hosts() {
        let access = Access { hosts: vec!["perf.example".to_owned()], token: None };
        for (host, want) in [
            (&[("host", "localhost:9182")][..], 200),
            (&[("host", "LOCALHOST")], 200),
            (&[("host", "127.0.0.1:8000")], 200),
            (&[("host", "127.0.0.7")], 200),
            (&[("host", "[::1]:9182")], 200),
            (&[("host", "perf.EXAMPLE:80")], 200),
            (&[("host", "evil.example")], 421),
            (&[("host", "localhost.evil.example")], 421),
            (&[("host", "192.0.2.1")], 421),
            (&[("host", "user@localhost")], 400),
            (&[("host", "")], 400),
            (&[("host", "a b")], 400),
            (&[], 400),
            (&[("host", "localhost"), ("host", "evil.example")], 400),
        ] {
            assert_eq!(status(&access, "/", host).0, want, "{host:?}");
        }
        let localhost = [("host", "localhost")];
        assert_eq!(status(&access, "http://evil.example/", &localhost).0, 400);
        assert_eq!(status(&access, "http://localhost/", &localhost).0, 200);
        // Asked from elsewhere, only the address itself is ours.
        let local: IpAddr = "192.0.2.7".parse().unwrap();
        for (host, want) in
            [("192.0.2.7", true), ("localhost", false), ("127.0.0.1", false), ("192.0.2.8", false)]
        {
            assert_eq!(access.is_ours(host, local), want, "{host}");
        }
        assert!(access.is_ours("192.0.2.7", "::ffff:192.0.2.7".parse().unwrap()));
        // What it is called by others, behind a translation of addresses.
        let hosts = ["203.0.113.5", "2001:db8::5", "Node.example."].map(str::to_owned).to_vec();
        let access = Access { hosts, token: None };
        for (host, want) in [
            ("203.0.113.5", true),
            ("[2001:db8::5]", true),
            ("node.example", true),
            ("node.EXAMPLE.", true),
            ("203.0.113.6", false),
            ("other.example", false),
        ] {
            assert_eq!(access.is_ours(host, local), want, "{host}");
        }
    }

    #[test]
    fn sizes_and_sites() {
        let access = Access { hosts: vec![], token: None };
        let host = ("host", "localhost");
        for (uri, more, want) in [
            ("/x", ("accept", "*/*"), 200),
            (&format!("/?{}", "x".repeat(URL_LEN_MOST)), ("accept", "*/*"), 414),
            ("/x", ("content-length", "0"), 200),
            ("/x", ("content-length", "1"), 413),
            ("/x", ("transfer-encoding", "chunked"), 413),
            ("/api/stream", ("sec-fetch-site", "cross-site"), 403),
            ("/api/stream", ("sec-fetch-site", "same-site"), 403),
            ("/api/stream", ("sec-fetch-site", "same-origin"), 200),
            ("/", ("sec-fetch-site", "cross-site"), 200),
        ] {
            assert_eq!(status(&access, uri, &[host, more]).0, want, "{uri:.20} {more:?}");
        }
        // A link is followed by its reader; what a page loads is not.
        let theirs = ("sec-fetch-site", "cross-site");
        for (mode, to, want) in [
            ("navigate", "document", 200),
            ("navigate", "iframe", 403),
            ("no-cors", "image", 403),
            ("cors", "empty", 403),
        ] {
            let more = [host, theirs, ("sec-fetch-mode", mode), ("sec-fetch-dest", to)];
            assert_eq!(status(&access, "/metrics", &more).0, want, "{mode} {to}");
        }
    }

    #[test]
    fn tokens() {
        let access = Access { hosts: vec![], token: Some(SECRET.parse().unwrap()) };
        let host = ("host", "localhost");
        for (uri, more, want) in [
            ("/", ("accept", "*/*"), 401),
            ("/healthz", ("accept", "*/*"), 200),
            ("/", ("authorization", "Bearer 0123456789abcdef"), 200),
            ("/", ("authorization", "bearer 0123456789abcdef"), 200),
            ("/", ("authorization", "Bearer 0123456789abcdeg"), 401),
            ("/", ("authorization", "Basic 0123456789abcdef"), 401),
            ("/", ("cookie", "a=b; perfset-9182=0123456789abcdef"), 200),
            ("/", ("cookie", "perfset-9183=0123456789abcdef"), 401),
            ("/?token=0123456789abcdef", ("accept", "*/*"), 303),
            ("/?token=0123456789abcdeg", ("accept", "*/*"), 401),
            ("/?token=", ("cookie", "perfset-9182=0123456789abcdef"), 401),
        ] {
            assert_eq!(status(&access, uri, &[host, more]).0, want, "{uri} {more:?}");
        }
        for (uri, to) in [
            ("/?token=0123456789abcdef", "/"),
            ("/?a=1&token=0123456789abcdef&b=%20", "/?a=1&b=%20"),
            ("//evil.example/?token=0123456789abcdef", "/evil.example/"),
        ] {
            let headers = status(&access, uri, &[host]).1.unwrap();
            assert_eq!(headers[LOCATION], to, "{uri}");
            assert_eq!(headers[SET_COOKIE], "perfset-9182=0123456789abcdef; Path=/; HttpOnly; SameSite=Lax");
        }
        // A server without a token takes the parameter away all the same.
        let headers = status(&Access { hosts: vec![], token: None }, "/?token=x", &[host]).1.unwrap();
        assert_eq!((headers.get(SET_COOKIE), headers[LOCATION].as_bytes()), (None, &b"/"[..]));
    }

    #[test]
    fn capabilities() {
        for (status, want) in [
            ("Name:\tx\nCapEff:\t0000000000000000\n", false),
            ("CapInh:\t0000000000000001\nCapEff:\t0000000000000000\n", false),
            ("CapEff:\t0000000000080000\n", true),
            ("CapEff:\tx\n", true),
            ("", true),
        ] {
            assert_eq!(has_capabilities(status), want, "{status:?}");
        }
    }
}
