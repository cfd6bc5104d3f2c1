//! Fuzz target for the query strings of requests to the web server.

use perfset_web::request::{PATHS_MOST, StreamRequest, TOP_MOST, stream, table, text, values, without};

/// Checks that the stream request in a query string is the same after writing and reading it, and that the other
/// readers of query strings agree.
pub fn check(input: &[u8]) {
    let query = String::from_utf8_lossy(input);
    let (rest, tokens) = without(&query, "token");
    assert_eq!(without(&rest, "token"), (rest.clone(), Vec::new()));
    assert!(rest.len() <= query.len() && (tokens.is_empty() || rest.len() < query.len()));
    if let Ok(Some(words)) = text(&query, "words") {
        assert!(!words.trim().is_empty() && words.len() <= query.len());
    }
    if let Ok(request) = table(&query) {
        let address = request.address();
        let (_, again) = address.split_once('?').expect("an address with a query");
        assert_eq!(table(again), Ok(request));
    }
    let asked = stream(&query);
    // A stream takes no single time.
    if let Ok((paths, None)) = values(&query) {
        let asks = asked.clone().expect("paths alone are a stream too").asks;
        assert!(asks.iter().map(|ask| &ask.path).eq(&paths));
    }
    let Ok(request) = asked else { return };
    assert!((1..=PATHS_MOST).contains(&request.asks.len()));
    assert!(request.asks.iter().filter_map(|ask| ask.top).all(|top| (1..=TOP_MOST).contains(&top)));
    // A path has no escape: what it says is not always what it was made of. What can be made again reads the same.
    if request.asks.iter().all(|ask| ask.path.make().is_ok()) {
        assert_eq!(stream(&written(&request)), Ok(request));
    }
}

fn written(request: &StreamRequest) -> String {
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let mut query = format!("history={}", request.history_s);
    for (name, time) in [("begin", &request.range.begin), ("end", &request.range.end)] {
        query += &time.as_ref().map_or(String::new(), |time| format!("&{name}={}", escaped(time)));
    }
    for ask in &request.asks {
        let path = escaped(&ask.path.to_string());
        query += &format!("&path={path}");
        query += &ask.top.map_or(String::new(), |top| format!("&top={top}"));
        query += if ask.sum { "&sum=1" } else { "" };
    }
    query
}
