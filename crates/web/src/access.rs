//! Access rules of the server: hosts, sizes, origins, the token, logins of browsers; and security headers of
//! responses.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use axum::body::Body;
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    COOKIE, HOST, ORIGIN, REFERRER_POLICY, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::answer::{ApiError, to_json};
use crate::limits::PIECE_MOST;
use crate::request::without;
use crate::token::{Token, TokenError};

/// HTML page for a browser that is not logged in. It explains the login, and contains nothing about this machine.
const NO_LOGIN: &str = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>perfset: log in</title>\n\
    <h1>Log in</h1>\n\
    <p>This server asks for a token, and this browser has not logged in since the server was started.</p>\n\
    <p>Open the address with <code>?token=</code> that <code>perfset serve</code> printed. If the token is in a file, \
    open this address with <code>?token=</code> and that token behind it.</p>\n";

/// Maximum length of a URL's path and query, in bytes.
const URL_LEN_MOST: usize = 16 << 10;

/// Security headers of every response. Scripts, styles and data come only from this server, no page shows this one in
/// a frame, and browsers do not guess content types.
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

/// Content security policy of responses that a browser saves as files. One that shows a file nevertheless runs no
/// script of it, and gives it an origin of its own.
const SAVED: &str =
    "default-src 'none'; sandbox; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Name of the header with the key of a login: the page sends it, in addition to the cookie, with every request for
/// data.
const KEY: HeaderName = HeaderName::from_static("perfset-key");

/// Access rules of the server.
#[derive(Debug)]
pub struct Access {
    /// Names under which the server is known, in addition to those of loopback and the local addresses.
    hosts: Vec<String>,
    /// Secrets that requests need; `None` if everybody may read the data.
    guard: Option<Guard>,
}

/// Secrets of the server: a request for data must have the token, or both the cookie and the key.
#[derive(Debug)]
struct Guard {
    /// Token that programs send, and with which browsers log in.
    token: Token,
    /// Value of the cookie that a browser gets at the login. Valid for this process only.
    ///
    /// Browsers send the cookie to every port of the host, so any server on another port learns it. The cookie alone
    /// therefore opens the page's own files and no data.
    cookie: Token,
    /// Logins of browsers with their keys, one of which is required in addition to the cookie for data. The page
    /// keeps its own in the storage of its origin, which is bound to host and port, and sends it as the header
    /// [`KEY`]. Valid for this process only.
    logins: Mutex<Logins>,
}

/// Logins of browsers, each with an id of its own, so that the logs that one browser has uploaded are not shown to
/// another browser.
#[derive(Debug, Default)]
struct Logins {
    /// Ids of logins with their keys, in the order of their last use; the newest is last.
    known: VecDeque<(u64, Token)>,
    /// Id that the next login of a browser gets.
    next: u64,
}

/// Maximum number of logins of browsers; a new login replaces the one that was not used for longest.
const LOGINS_MOST: usize = 256;

/// Owner of uploaded logs: a login, a program with the token, or a client of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOwner {
    /// Owner of nothing: a client of another machine, at a server without a token.
    Nobody,
    /// Client of this machine as owner, at a server without a token.
    Local,
    /// Program that sends the token, as owner of uploaded logs.
    Token,
    /// Browser that has logged in, as owner of uploaded logs.
    Login(u64),
}

/// Local address of a connection, as stored in its requests.
#[derive(Clone, Copy, Debug)]
pub struct Local(pub SocketAddr);

/// Parts of a request on which its permission depends.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    /// Local address of the connection on which the request came.
    pub local: SocketAddr,
}

/// Permission for one HTTP request.
#[derive(Debug)]
pub struct Permit {
    /// `true` if the request proves that the client knows the token, or if no token is required.
    pub is_trusted: bool,
    /// Login cookie for the response, if the request logs a browser in.
    pub cookie: Option<HeaderValue>,
    /// Owner of the logs that the request may read and upload.
    pub owner: LogOwner,
}

/// Response to `/api/login`, as JSON.
#[derive(Serialize)]
struct LoginJson<'a> {
    /// Value of the header [`KEY`]; `None` if the server requires no token.
    key: Option<&'a str>,
}

impl Access {
    /// Creates the access rules of a server, with a new login cookie if there is a token.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new(hosts: Vec<String>, token: Option<Token>) -> Result<Self, TokenError> {
        let guard = match token {
            Some(token) => Some(Guard { token, cookie: Token::random()?, logins: Mutex::default() }),
            None => None,
        };
        Ok(Self { hosts, guard })
    }

    /// Returns the token that clients must know; `None` if the server requires none.
    pub fn token(&self) -> Option<&Token> {
        self.guard.as_ref().map(|guard| &guard.token)
    }

    /// Logs a browser in, and returns the JSON that its page gets, and the login that was replaced. A browser that is
    /// logged in already keeps its login, and with it the logs that it has sent.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn login(&self, headers: &HeaderMap) -> Result<(String, Option<LogOwner>), TokenError> {
        let Some(guard) = &self.guard else { return Ok((to_json(&LoginJson { key: None }), None)) };
        let mut logins = guard.logins.lock().unwrap_or_else(PoisonError::into_inner);
        let given = headers.get(KEY).and_then(|key| key.to_str().ok()).unwrap_or_default();
        let is_new = logins.find(given).is_none();
        let mut lost = None;
        if is_new {
            let key = Token::random()?;
            if logins.known.len() >= LOGINS_MOST {
                lost = logins.known.pop_front().map(|(number, _)| LogOwner::Login(number));
            }
            let number = logins.next;
            logins.next = number.saturating_add(1);
            logins.known.push_back((number, key));
        }
        // The one that was found or added.
        let key = logins.known.back().map(|(_, key)| key.secret());
        Ok((to_json(&LoginJson { key }), lost))
    }

    /// Checks if a request is permitted; the error is the response that the client gets instead.
    pub fn check(&self, asked: RequestParts<'_>) -> Result<Permit, Box<Response>> {
        self.check_form(asked).map_err(|problem| Box::new(problem.into_response()))?;
        let trusted = |owner| Ok(Permit { is_trusted: true, cookie: None, owner });
        let Some(guard) = &self.guard else {
            let is_local = asked.local.ip().to_canonical().is_loopback();
            return trusted(if is_local { LogOwner::Local } else { LogOwner::Nobody });
        };
        let path = asked.uri.path();
        if path == "/" {
            // The page logs in with the token of its address: its scripts need the cookie to be loaded. No other
            // address sets it, because the browser derives its path from that of the page.
            let (_, given) = without(asked.uri.query().unwrap_or_default(), "token");
            if let Some(given) = given.first() {
                let cookie = guard.login_cookie(asked.local);
                return match guard.token.is(given) {
                    true => Ok(Permit { is_trusted: true, cookie, owner: LogOwner::Nobody }),
                    false => Err(Box::new(no_token(asked))),
                };
            }
        }
        // The token in a header is for programs, and is sufficient by itself: no browser sends it unasked.
        if guard.has_token(asked) {
            return trusted(LogOwner::Token);
        }
        // Cookie and key: the cookie alone is also sent to, and known by, servers on other ports of the host.
        let has_cookie = guard.has_cookie(asked);
        if let Some(number) = guard.login(asked).filter(|_| has_cookie) {
            return trusted(LogOwner::Login(number));
        }
        // The page and its files contain nothing about this machine. A browser loads them without the key,
        // which only the page's script can send.
        let is_file = path == "/" || path.starts_with("/assets/");
        match path == "/healthz" || is_file && has_cookie {
            true => Ok(Permit { is_trusted: false, cookie: None, owner: LogOwner::Nobody }),
            false => Err(Box::new(no_token(asked))),
        }
    }

    fn check_form(
        &self,
        RequestParts { method, uri, headers, local }: RequestParts<'_>,
    ) -> Result<(), ApiError> {
        let is_long = uri.path_and_query().is_some_and(|text| text.as_str().len() > URL_LEN_MOST);
        if is_long {
            let text = format!("the address is longer than {URL_LEN_MOST} bytes");
            return Err(ApiError::new(StatusCode::URI_TOO_LONG, text));
        }
        check_body(takes_piece(method, uri), headers)?;
        // Against DNS rebinding: another site's name can be made to point to this address, and the browser
        // then sends that name.
        let host = host_of(uri, headers)?;
        if !self.is_ours(&host, local.ip()) {
            let text = format!("this server is not known as \"{}\"", host.escape_debug());
            let hint = "perfset serve --host NAME lets it be called so";
            return Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, text).hint(hint));
        }
        // Pages of other sites may link to this one; they must not use it without its user's knowledge.
        let fetch = |name| headers.get(name).map(HeaderValue::as_bytes);
        let is_theirs = matches!(fetch("sec-fetch-site"), Some(b"cross-site" | b"same-site"));
        // A link is followed by the user, who sees where it leads.
        let is_link = fetch("sec-fetch-mode") == Some(b"navigate")
            && matches!(fetch("sec-fetch-dest"), None | Some(b"document"));
        if uri.path() != "/" && is_theirs && !is_link {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "pages of other sites get nothing here"));
        }
        if changes_logs(method, uri) { self.check_change(headers) } else { Ok(()) }
    }

    /// Checks that no page of another site sends or removes a log. Three rules, because browsers differ: those of today
    /// send the first two headers, and none sends the third one for another site without asking this server before,
    /// which permits it never.
    fn check_change(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let refused = |text: &str| Err(ApiError::new(StatusCode::FORBIDDEN, text));
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if site.is_some_and(|site| site != b"same-origin") {
            return refused("only this server's own page, or a program, sends logs");
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let named = origin.to_str().ok().and_then(|text| text.split_once("://"));
            let named = named.filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
            let authority = named.and_then(|(_, authority)| authority.parse::<Authority>().ok());
            let is_same = |authority: &Authority| {
                let host = headers.get(HOST).and_then(|host| host.to_str().ok());
                // A proxy may send its own name for the server, and the page has that of the proxy.
                host.is_some_and(|host| host.eq_ignore_ascii_case(authority.as_str()))
                    || self.hosts.iter().any(|name| plain(name).eq_ignore_ascii_case(plain(authority.host())))
            };
            if !authority.as_ref().is_some_and(is_same) {
                return refused("pages of another origin send no logs here");
            }
        }
        if !headers.contains_key(KEY) && !headers.contains_key(AUTHORIZATION) {
            let text = "the header Perfset-Key is missing, which pages of other sites cannot send";
            return Err(ApiError::new(StatusCode::FORBIDDEN, text)
                .hint("a server without a token takes any value: Perfset-Key: none"));
        }
        Ok(())
    }

    /// Returns `true` if the host of a request is a name or address of this server. A browser that was led here by
    /// another site's name requests that name.
    fn is_ours(&self, host: &str, local: IpAddr) -> bool {
        let host = plain(host);
        let local = local.to_canonical();
        let is_local = match host.parse::<IpAddr>() {
            // An IPv4 address can arrive as one of IPv6.
            Ok(ip) => ip.to_canonical() == local || ip.is_loopback() && local.is_loopback(),
            Err(_) => host.eq_ignore_ascii_case("localhost") && local.is_loopback(),
        };
        is_local || self.hosts.iter().any(|name| plain(name).eq_ignore_ascii_case(host))
    }
}

/// Returns `true` if a request begins, continues, opens or removes an upload of a log.
fn changes_logs(method: &Method, uri: &Uri) -> bool {
    let is_logs = ["/api/logs", "/api/v1/logs"].iter().any(|logs| {
        uri.path().strip_prefix(logs).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    is_logs && !matches!(*method, Method::GET | Method::HEAD)
}

/// Returns `true` if a request has a piece of an uploaded log as its body: no other request has a body.
pub fn takes_piece(method: &Method, uri: &Uri) -> bool {
    *method == Method::PUT && changes_logs(method, uri)
}

/// Checks the headers of a request about its body.
fn check_body(takes_piece: bool, headers: &HeaderMap) -> Result<(), ApiError> {
    let lengths: Vec<_> = headers.get_all(CONTENT_LENGTH).iter().collect();
    let is_chunked = headers.contains_key(TRANSFER_ENCODING);
    if !takes_piece {
        // The body would not be read, so a client cannot send one that would be taken for the next request.
        let has_length = lengths.iter().any(|len| len.as_bytes() != b"0");
        return match has_length || is_chunked {
            true => Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "no request here has a body")),
            false => Ok(()),
        };
    }
    let len = match *lengths {
        [len] if !is_chunked => len.to_str().ok().and_then(|len| len.parse::<u64>().ok()),
        _ => None,
    };
    let text = format!("a piece of a log has one Content-Length, from 1 to {PIECE_MOST}");
    match len {
        Some(1..=PIECE_MOST) => Ok(()),
        Some(_) => Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, text)),
        None => Err(ApiError::new(StatusCode::LENGTH_REQUIRED, text)),
    }
}

/// Returns the host of a request without the brackets of an IPv6 address and without the final point of a name.
fn plain(host: &str) -> &str {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.strip_suffix('.').unwrap_or(bare)
}

/// Returns the host that a request names, without its port.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Result<String, ApiError> {
    let bad = |text: &str| ApiError::new(StatusCode::BAD_REQUEST, text);
    let mut named = headers.get_all(HOST).iter();
    // RFC 9112, section 3.2: a request without a Host or with two of them is invalid. With two, a proxy could
    // have checked the other one.
    let authority = match (named.next(), named.next()) {
        (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        (None, _) => return Err(bad("the request has no Host")),
        (Some(_), Some(_)) => return Err(bad("the request has several Hosts")),
    };
    // `user@host` is valid in an address and never in a Host header.
    let authority = authority.filter(|authority| !authority.as_str().contains('@'));
    let host = authority.ok_or_else(|| bad("the request's Host is not a host"))?.host().to_owned();
    match uri.host() {
        Some(other) if !other.eq_ignore_ascii_case(&host) => Err(bad("the request names two hosts")),
        _ => Ok(host),
    }
}

impl Guard {
    /// Returns `true` if the request has the token in its `Authorization` header.
    fn has_token(&self, asked: RequestParts<'_>) -> bool {
        texts(asked, AUTHORIZATION).any(|text| {
            let (scheme, given) = text.split_once(' ').unwrap_or_default();
            scheme.eq_ignore_ascii_case("bearer") && self.token.is(given.trim())
        })
    }

    /// Returns `true` if the request has the cookie of a login of this server.
    fn has_cookie(&self, asked: RequestParts<'_>) -> bool {
        let own = cookie_name(asked.local);
        let is_own = |cookie: &str| {
            cookie.trim().split_once('=').is_some_and(|(name, given)| name == own && self.cookie.is(given))
        };
        texts(asked, COOKIE).flat_map(|text| text.split(';')).any(is_own)
    }

    /// Returns the id of the login whose key the request has.
    fn login(&self, asked: RequestParts<'_>) -> Option<u64> {
        let mut logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
        texts(asked, KEY).find_map(|text| logins.find(text.trim()))
    }

    /// Returns the response header that gives a browser the login cookie.
    fn login_cookie(&self, local: SocketAddr) -> Option<HeaderValue> {
        // Without `Secure`: this server has no TLS, and browsers send such a cookie over TLS only. Without `Path`:
        // the browser then takes the directory of the page's address, which a proxy may have below a path of its own,
        // beside that of another server with the same port.
        let text = format!("{}={}; HttpOnly; SameSite=Strict", cookie_name(local), self.cookie.secret());
        let mut cookie = HeaderValue::from_str(&text).ok()?;
        // Keeps the secret out of the `Debug` output of headers.
        cookie.set_sensitive(true);
        Some(cookie)
    }
}

impl Logins {
    /// Returns the id of the login with this key, and makes this login the one that was used last.
    fn find(&mut self, key: &str) -> Option<u64> {
        let at = self.known.iter().position(|(_, known)| known.is(key))?;
        let found = self.known.remove(at)?;
        let number = found.0;
        self.known.push_back(found);
        Some(number)
    }
}

/// Returns the values of a header of a request, except those that are not text.
fn texts(asked: RequestParts<'_>, name: HeaderName) -> impl Iterator<Item = &str> {
    asked.headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
}

/// Returns the name of the login cookie. Browsers share cookies between all ports of a host, so each server needs its
/// own name.
fn cookie_name(local: SocketAddr) -> String {
    format!("perfset-{}", local.port())
}

/// Returns the response that refuses a request without the token: a page for browsers, JSON for programs.
fn no_token(asked: RequestParts<'_>) -> Response {
    let is_page = asked.uri.path() == "/" && texts(asked, ACCEPT).any(|text| text.contains("text/html"));
    let mut response = ApiError::new(StatusCode::UNAUTHORIZED, "a token is asked")
        .hint(
            "open the address with ?token= that perfset serve printed; after a restart of the server, again",
        )
        .hint("programs send Authorization: Bearer TOKEN")
        .into_response();
    if is_page {
        *response.body_mut() = Body::from(NO_LOGIN);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        response.headers_mut().remove(CONTENT_LENGTH); // that of the JSON
    }
    response
}

/// Adds the security headers that every response has.
pub fn say(headers: &mut HeaderMap) {
    for (name, value) in SAID {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if headers.contains_key(CONTENT_DISPOSITION) {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(SAVED));
    }
}

/// Returns `true` if this process has elevated privileges: it is root, or has capabilities. It may then show more
/// than its clients may see by themselves.
#[must_use]
#[cfg(unix)]
pub fn is_privileged() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    rustix::process::geteuid().is_root() || has_capabilities(&status)
}

/// Returns `true`, because privileges cannot be determined on this system, so that elevated ones are assumed.
#[must_use]
#[cfg(not(unix))]
pub fn is_privileged() -> bool {
    true
}

/// Returns `true` if the text of `/proc/PID/status` has an effective capability, or no line about capabilities.
#[cfg(any(unix, test))]
fn has_capabilities(status: &str) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()) != Some(0)
}

#[cfg(test)]
mod tests {
    use axum::http::header::{LOCATION, SET_COOKIE};

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
        let (method, uri) = uri.split_once(' ').unwrap_or(("GET", uri));
        let method = &method.parse().unwrap();
        match access.check(RequestParts { method, uri: &uri.parse().unwrap(), headers: &map, local }) {
            Ok(permit) => {
                let cookie = permit.cookie.map(|cookie| HeaderMap::from_iter([(SET_COOKIE, cookie)]));
                (if permit.is_trusted { 200 } else { 203 }, cookie)
            }
            Err(answer) => (answer.status().as_u16(), Some(answer.headers().clone())),
        }
    }

    /// Logs a browser in that has this login key, and returns its key.
    fn log_in(access: &Access, key: Option<&str>) -> String {
        let headers = key.map(|key| (KEY, HeaderValue::from_str(key).unwrap()));
        let (json, _) = access.login(&HeaderMap::from_iter(headers)).unwrap();
        json.strip_prefix("{\"key\":\"").unwrap().strip_suffix("\"}").unwrap().to_owned()
    }

    /// Returns access rules for these host names, without a token.
    fn open(hosts: &[&str]) -> Access {
        Access::new(hosts.iter().map(|host| (*host).to_owned()).collect(), None).unwrap()
    }

    #[test]
    fn hosts() {
        let access = open(&["perf.example"]);
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
        let access = open(&["203.0.113.5", "2001:db8::5", "Node.example."]);
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
        let access = open(&[]);
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

    /// Checks that data need the token, or both the cookie and the key of a login. Status 203 stands for a request
    /// that is answered without proof that its client knows the token.
    #[test]
    fn data_need_the_token_or_both_numbers_of_a_login() {
        let access = Access::new(vec![], Some(SECRET.parse().unwrap())).unwrap();
        let cookie = access.guard.as_ref().unwrap().cookie.secret().to_owned();
        let key = log_in(&access, None);
        assert!(cookie != key && cookie != SECRET && key != SECRET);
        let named = |port: u16, value: &str| format!("a=b; perfset-{port}={value}");
        let (own, other, old) = (named(9182, &cookie), named(9183, &cookie), named(9182, SECRET));
        let swapped = named(9182, &key);
        let (accept, own) = (("accept", "*/*"), ("cookie", own.as_str()));
        let key = ("perfset-key", key.as_str());
        for (uri, more, want) in [
            ("/", &[accept][..], 401),
            ("/healthz", &[accept], 203),
            ("/healthz", &[own, key], 200),
            ("/", &[("authorization", "Bearer 0123456789abcdef")], 200),
            ("/metrics", &[("authorization", "bearer 0123456789abcdef")], 200),
            ("/metrics", &[("authorization", "Bearer 0123456789abcdeg")], 401),
            ("/metrics", &[("authorization", "Basic 0123456789abcdef")], 401),
            // The cookie opens files of the page and no data.
            ("/", &[own], 203),
            ("/assets/1/main.js", &[own], 203),
            ("/assets/1/main.js", &[accept], 401),
            ("/metrics", &[own], 401),
            ("/api/login", &[own], 401),
            ("/api/stream?path=/A/B", &[own], 401),
            ("/assetsx", &[own], 401),
            ("/nothing", &[own], 401),
            // So does the key alone, or with the cookie of another server, or with the token as a cookie.
            ("/metrics", &[key], 401),
            ("/metrics", &[("cookie", &other), key], 401),
            ("/metrics", &[("cookie", &old)], 401),
            ("/metrics", &[("cookie", &old), key], 401),
            ("/metrics", &[("cookie", &swapped), ("perfset-key", &cookie)], 401),
            ("/metrics", &[own, ("perfset-key", &cookie)], 401),
            ("/metrics", &[own, ("perfset-key", "")], 401),
            ("/metrics", &[own, key], 200),
            ("/api/stream?path=/A/B", &[own, key], 200),
            // The token in the address is for the page.
            ("/?token=0123456789abcdef", &[accept], 200),
            ("/?a=1&token=0123456789abcdef&b=%20", &[accept], 200),
            ("/?token=0123456789abcdeg", &[accept], 401),
            ("/?token=", &[own, key], 401),
            ("/metrics?token=0123456789abcdef", &[accept], 401),
        ] {
            let headers: Vec<_> = [&[("host", "localhost")], more].concat();
            assert_eq!(status(&access, uri, &headers).0, want, "{uri} {more:?}");
        }
        let want = format!("perfset-9182={cookie}; HttpOnly; SameSite=Strict");
        let bearer = ("authorization", "Bearer 0123456789abcdef");
        for (uri, more, has_cookie) in [
            ("/?token=0123456789abcdef", accept, true),
            ("/api/login", bearer, false),
            ("/", bearer, false),
            ("/metrics", bearer, false),
        ] {
            let set = status(&access, uri, &[("host", "localhost"), more])
                .1
                .map(|headers| headers[SET_COOKIE].clone());
            assert_eq!(set.is_some(), has_cookie, "{uri}");
            assert!(set.is_none_or(|set| set == want && set.is_sensitive()), "{uri}");
        }
        assert_eq!(log_in(&access, Some(key.1)), key.1);
        assert!(!format!("{access:?}").contains(&cookie) && !format!("{access:?}").contains(key.1));
        // Another server has other numbers, also with the same token.
        let again = Access::new(vec![], Some(SECRET.parse().unwrap())).unwrap();
        assert_eq!(status(&again, "/metrics", &[("host", "localhost"), own, key]).0, 401);
    }

    /// Checks that only this server's page and programs can change logs, and that no other request has a body.
    #[test]
    fn logs_are_changed_by_the_page_and_by_programs_only() {
        let access = open(&["proxy.example"]);
        let (host, key) = (("host", "localhost:9182"), ("perfset-key", "none"));
        let len = ("content-length", "3");
        for (uri, more, want) in [
            ("POST /api/v1/logs?name=a", &[host, key][..], 200),
            ("POST /api/logs?name=a", &[host, key], 200),
            ("POST /api/v1/logs?name=a", &[host], 403),
            ("POST /api/v1/logs?name=a", &[host, ("authorization", "x")], 200),
            ("POST /api/v1/logs?name=a", &[host, key, ("sec-fetch-site", "same-origin")], 200),
            ("POST /api/v1/logs?name=a", &[host, key, ("sec-fetch-site", "same-site")], 403),
            ("POST /api/v1/logs?name=a", &[host, key, ("sec-fetch-site", "cross-site")], 403),
            ("POST /api/v1/logs?name=a", &[host, key, ("sec-fetch-site", "none")], 403),
            ("POST /api/v1/logs?name=a", &[host, key, ("origin", "http://localhost:9182")], 200),
            ("POST /api/v1/logs?name=a", &[host, key, ("origin", "http://localhost:9183")], 403),
            ("POST /api/v1/logs?name=a", &[host, key, ("origin", "http://evil.example")], 403),
            ("POST /api/v1/logs?name=a", &[host, key, ("origin", "https://proxy.example")], 200),
            ("POST /api/v1/logs?name=a", &[host, key, ("origin", "ftp://proxy.example")], 403),
            ("POST /api/v1/logs?name=a", &[host, key, ("origin", "null")], 403),
            ("DELETE /api/v1/logs/x", &[host], 403),
            ("DELETE /api/v1/logs/x", &[host, key], 200),
            ("POST /api/v1/logs/x/open", &[host], 403),
            ("POST /api/v1/logs/x/open", &[host, key, len], 413),
            ("POST /api/v1/logs/x/open", &[host, key, ("content-length", "0")], 200),
            ("PUT /api/v1/logs/x?offset=0", &[host, key, len], 200),
            ("PUT /api/v1/logs/x?offset=0", &[host, len], 403),
            ("PUT /api/v1/logs/x?offset=0", &[host, key], 411),
            ("PUT /api/v1/logs/x?offset=0", &[host, key, len, len], 411),
            ("PUT /api/v1/logs/x?offset=0", &[host, key, len, ("transfer-encoding", "chunked")], 411),
            ("PUT /api/v1/logs/x?offset=0", &[host, key, ("content-length", "0")], 413),
            ("PUT /api/v1/logs/x?offset=0", &[host, key, ("content-length", "1048576")], 200),
            ("PUT /api/v1/logs/x?offset=0", &[host, key, ("content-length", "1048577")], 413),
            ("PUT /api/v1/logsx", &[host, key, len], 413),
            ("PUT /api/v1/query", &[host, key, len], 413),
            ("GET /api/v1/logs", &[host], 200),
            ("GET /api/v1/logs/x", &[host, key, len], 413),
        ] {
            assert_eq!(status(&access, uri, more).0, want, "{uri} {more:?}");
        }
        // With a token, the key must be that of a login.
        let guarded = Access::new(vec![], Some(SECRET.parse().unwrap())).unwrap();
        assert_eq!(status(&guarded, "POST /api/v1/logs?name=a", &[host, key]).0, 401);
        let bearer = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(status(&guarded, "POST /api/v1/logs?name=a", &[host, bearer]).0, 200);
    }

    /// Checks that each browser login owns its own logs, keeps its id, and is replaced when it is the one not used
    /// for longest.
    #[test]
    fn logins_are_told_apart() {
        let access = Access::new(vec![], Some(SECRET.parse().unwrap())).unwrap();
        let cookie = format!("perfset-9182={}", access.guard.as_ref().unwrap().cookie.secret());
        let owner = |headers: &[(&str, &str)], local: &str| {
            let mut map = HeaderMap::new();
            for (name, value) in headers.iter().chain(&[("host", "127.0.0.1"), ("cookie", cookie.as_str())]) {
                let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
                map.append(name, HeaderValue::from_str(value).unwrap());
            }
            let (uri, local) = ("/metrics".parse().unwrap(), local.parse().unwrap());
            let asked = RequestParts { method: &Method::GET, uri: &uri, headers: &map, local };
            access.check(asked).ok().map(|permit| permit.owner)
        };
        let local = "127.0.0.1:9182";
        let keys: Vec<_> = (0..LOGINS_MOST).map(|_| log_in(&access, None)).collect();
        assert_eq!(owner(&[("authorization", "Bearer 0123456789abcdef")], local), Some(LogOwner::Token));
        for (number, key) in keys.iter().enumerate().skip(1) {
            assert_eq!(owner(&[("perfset-key", key)], local), Some(LogOwner::Login(number as u64)));
        }
        // The first one was not used.
        let (_, lost) = access.login(&HeaderMap::new()).unwrap();
        assert_eq!(lost, Some(LogOwner::Login(0)));
        assert_eq!(owner(&[("perfset-key", &keys[0])], local), None);
        assert_eq!(log_in(&access, Some(&keys[1])), keys[1]);
        let open = open(&[]);
        for (local, want) in [
            ("127.0.0.1:1", LogOwner::Local),
            ("[::1]:1", LogOwner::Local),
            ("192.0.2.7:1", LogOwner::Nobody),
        ] {
            let host = local.rsplit_once(':').unwrap().0;
            let map = HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]);
            let (uri, local) = ("/".parse().unwrap(), local.parse().unwrap());
            let asked = RequestParts { method: &Method::GET, uri: &uri, headers: &map, local };
            assert_eq!(open.check(asked).unwrap().owner, want, "{local}");
        }
    }

    #[test]
    fn no_address_leads_elsewhere() {
        let guarded = Access::new(vec![], Some(SECRET.parse().unwrap())).unwrap();
        for access in [&guarded, &open(&[])] {
            for path in [
                "/",
                "//evil.example/",
                "/\\evil.example/",
                "/%5cevil.example/",
                "/\\\\evil.example/",
                "/.//x",
            ] {
                for token in [SECRET, "x"] {
                    let headers =
                        status(access, &format!("{path}?token={token}"), &[("host", "localhost")]).1;
                    assert!(headers.is_none_or(|headers| !headers.contains_key(LOCATION)), "{path}");
                }
            }
        }
    }

    #[test]
    fn a_browser_that_is_not_logged_in_gets_a_page() {
        let access = Access::new(vec![], Some(SECRET.parse().unwrap())).unwrap();
        for (uri, accept, want) in [
            ("/", "text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
            ("/", "*/*", "application/json"),
            ("/metrics", "text/html", "application/json"),
        ] {
            let headers = status(&access, uri, &[("host", "localhost"), ("accept", accept)]).1.unwrap();
            assert_eq!(headers[CONTENT_TYPE], want, "{uri}");
        }
    }

    #[test]
    fn files_to_be_saved_are_no_pages() {
        for (is_saved, want) in [(false, SAID[0].1), (true, SAVED)] {
            let mut headers = HeaderMap::new();
            if is_saved {
                headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
            }
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("script-src *"));
            say(&mut headers);
            let policies: Vec<_> = headers.get_all(CONTENT_SECURITY_POLICY).iter().collect();
            assert_eq!(policies, [want]);
            assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
        let rules: Vec<&str> = SAVED.split("; ").collect();
        assert!(rules.contains(&"sandbox") && rules.contains(&"default-src 'none'"));
        assert!(!SAVED.contains("script-src"));
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
