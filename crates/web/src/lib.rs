//! This machine's counters in the browser: a page, a JSON API, streams of samples.
//!
//! A [`Server`] answers on addresses that it was told. One thread collects what all viewers ask for, once an
//! interval, however many they are; another one answers. `docs/web-api.md` says what every request gives.
//!
//! ```no_run
//! use perfset_web::{Options, Server};
//!
//! let server = Server::open(perfset::local(), Options::default())?;
//! server.pages().for_each(|page| println!("{page}"));
//! server.run()?;
//! # Ok::<_, perfset_web::ServeError>(())
//! ```

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod access;
mod answer;
mod api;
mod assets;
mod catalogue;
mod connection;
mod overview;
mod places;
pub mod request;
mod sampler;
mod scrape;
mod server;
#[doc(hidden)]
pub mod stepped;
mod stream;
mod token;
mod unread;

pub use access::is_privileged;
pub use server::{Limits, Options, ServeError, Server, Stopper};
pub use token::{Token, TokenError};
