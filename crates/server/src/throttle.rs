//! Limits on password guesses.
//!
//! | failed attempts | at once | then |
//! |---|---|---|
//! | from one address (of IPv6, one /64) | [`ADDRESS`]: 10 | one a second |
//! | at one login, from addresses that have not logged in | [`LOGIN`]: 100 | ten a second |
//!
//! An attempt beyond that waits, and is refused unchecked if it would wait longer than [`WAIT_MAX`]. A correct password does not count, so
//! many clients may log in at once from one address. If its address has failed too often, a correct password waits like a wrong one,
//! because an immediate answer would reveal it.
//!
//! Invariant: passwords from one address are checked one at a time, so parallel attempts gain nothing. Invariant: at most [`PLACES_MAX`]
//! addresses and as many logins are remembered; those without failures are dropped first.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long an attempt waits for its turn at most; clients wait 15 seconds for their login, as a rule.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);

/// Addresses remembered, and logins.
const PLACES_MAX: usize = 4096;

/// A rate of failures.
struct Rate {
    at_once: u32,
    then_every: Duration,
}

const ADDRESS: Rate = Rate {
    at_once: 10,
    then_every: Duration::from_secs(1),
};
const LOGIN: Rate = Rate {
    at_once: 100,
    then_every: Duration::from_millis(100),
};

/// The failures of one address or login, as the time at which all of them are forgotten.
#[derive(Debug, Clone, Copy, Default)]
struct Failures(Option<Instant>);

impl Failures {
    /// How long the next attempt has to wait.
    fn wait(self, rate: &Rate, now: Instant) -> Duration {
        let owed = self
            .0
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        let free = rate.then_every * (rate.at_once - 1);
        owed.saturating_sub(free)
    }

    fn add(&mut self, rate: &Rate, now: Instant) {
        let begun = self.0.map_or(now, |until| until.max(now));
        self.0 = begun.checked_add(rate.then_every);
    }

    fn are_forgotten(self, now: Instant) -> bool {
        self.0.is_none_or(|until| until <= now)
    }
}

#[derive(Debug, Default)]
struct Place {
    failures: Failures,
    /// It has logged in.
    is_known: bool,
}

/// The failures of late.
#[derive(Default)]
pub(crate) struct Throttle {
    places: Mutex<HashMap<IpAddr, Arc<Mutex<Place>>>>,
    logins: Mutex<HashMap<String, Failures>>,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The password is right.
    Matched,
    /// It is wrong.
    Failed,
    /// It was not looked at: there is time for it after so long.
    Wait(Duration),
}

impl Throttle {
    /// Checks a password by `verify` if it is time for another attempt from `address` at `login`.
    pub(crate) fn attempt(&self, address: IpAddr, login: &str, verify: impl FnOnce() -> bool) -> Attempt {
        self.attempt_at(Instant::now, address, login, verify)
    }

    fn attempt_at(
        &self,
        now: impl Fn() -> Instant,
        address: IpAddr,
        login: &str,
        verify: impl FnOnce() -> bool,
    ) -> Attempt {
        let place = self.place(network_of(address), now());
        let mut place = place.lock();
        let login = login.to_lowercase();
        let wait = match place.is_known {
            true => Duration::ZERO,
            false => self
                .logins
                .lock()
                .get(&login)
                .map_or(Duration::ZERO, |failures| failures.wait(&LOGIN, now())),
        };
        let wait = wait.max(place.failures.wait(&ADDRESS, now()));
        if !wait.is_zero() {
            return Attempt::Wait(wait);
        }
        if verify() {
            place.is_known = true;
            return Attempt::Matched;
        }
        place.failures.add(&ADDRESS, now());
        let mut logins = self.logins.lock();
        let now = now();
        make_room(&mut logins, &login, |failures| (false, *failures), now);
        logins.entry(login).or_default().add(&LOGIN, now);
        Attempt::Failed
    }

    fn place(&self, network: IpAddr, now: Instant) -> Arc<Mutex<Place>> {
        let mut places = self.places.lock();
        let weigh = |place: &Arc<Mutex<Place>>| match place.try_lock() {
            // The count is in use.
            None => (true, Failures(now.checked_add(WAIT_MAX))),
            Some(place) => (place.is_known, place.failures),
        };
        make_room(&mut places, &network, weigh, now);
        Arc::clone(places.entry(network).or_default())
    }
}

/// Makes room for `key`: forgets who has nothing against him, and where everybody has something, the one who has least and is not known.
fn make_room<Key: Hash + Eq + Clone, Entry>(
    entries: &mut HashMap<Key, Entry>,
    key: &Key,
    weigh: impl Fn(&Entry) -> (bool, Failures),
    now: Instant,
) {
    if entries.len() < PLACES_MAX || entries.contains_key(key) {
        return;
    }
    entries.retain(|_, entry| {
        let (is_known, failures) = weigh(entry);
        is_known || !failures.are_forgotten(now)
    });
    if entries.len() >= PLACES_MAX {
        let least = entries.iter().min_by_key(|(_, entry)| {
            let (is_known, failures) = weigh(entry);
            (is_known, failures.0)
        });
        let least = least.map(|(key, _)| key.clone());
        least.and_then(|key| entries.remove(&key));
    }
}

/// What one stranger has of the address space: an IPv4 address, and of IPv6 a /64 (RFC 4291, 2.5.1, the interface's half).
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::cell::Cell;
    use std::net::Ipv4Addr;

    /// A throttle, and a clock that the test moves.
    struct Attempts {
        throttle: Throttle,
        now: Cell<Instant>,
    }

    impl Attempts {
        fn new() -> Attempts {
            Attempts {
                throttle: Throttle::default(),
                now: Cell::new(Instant::now()),
            }
        }

        fn pass(&self, time: Duration) {
            self.now.set(self.now.get() + time);
        }

        fn attempt(&self, address: u32, login: &str, is_right: bool) -> Attempt {
            let address = IpAddr::V4(Ipv4Addr::from_bits(address));
            self.throttle.attempt_at(|| self.now.get(), address, login, || is_right)
        }

        /// Attempts that fail until one has to wait: how many, and how long.
        fn fail(&self, address: u32, login: &str) -> (u32, Duration) {
            let mut failed = 0;
            loop {
                match self.attempt(address, login, false) {
                    Attempt::Failed => failed += 1,
                    Attempt::Wait(wait) => return (failed, wait),
                    Attempt::Matched => panic!("a wrong password is right"),
                }
            }
        }
    }

    /// Guesses were slowed by nothing but the hash: fifty a second.
    #[test]
    fn an_address_has_ten_guesses_and_one_more_a_second() {
        let attempts = Attempts::new();
        assert_eq!(attempts.fail(1, "sa"), (10, Duration::from_secs(1)));
        assert_eq!(
            attempts.attempt(1, "sa", true),
            Attempt::Wait(Duration::from_secs(1)),
            "a right password is not told apart"
        );
        for _ in 0..3 {
            attempts.pass(Duration::from_secs(1));
            assert_eq!(
                attempts.fail(1, "other"),
                (1, Duration::from_secs(1)),
                "whatever the login"
            );
        }
        assert_eq!(attempts.attempt(2, "sa", true), Attempt::Matched, "another address");
        attempts.pass(Duration::from_secs(3600));
        assert_eq!(attempts.fail(1, "sa").0, 10, "old failures are forgotten");
    }

    #[test]
    fn right_passwords_cost_nothing() {
        let attempts = Attempts::new();
        for _ in 0..10_000 {
            assert_eq!(attempts.attempt(1, "sa", true), Attempt::Matched);
        }
        assert_eq!(attempts.fail(1, "sa").0, 10);
    }

    /// Guesses from ever new addresses are slowed by their login. A user who has logged in from their address earlier gets in
    /// meanwhile.
    #[test]
    fn a_login_has_a_hundred_guesses_of_strangers_and_ten_more_a_second() {
        let attempts = Attempts::new();
        assert_eq!(attempts.attempt(7, "sa", true), Attempt::Matched);
        for address in 1000..1100 {
            assert_eq!(attempts.attempt(address, "SA", false), Attempt::Failed);
        }
        let wait = Attempt::Wait(Duration::from_millis(100));
        assert_eq!(attempts.attempt(2000, "sa", false), wait);
        assert_eq!(attempts.attempt(2000, "sa", true), wait);
        assert_eq!(attempts.attempt(2000, "other", false), Attempt::Failed);
        assert_eq!(attempts.attempt(7, "sa", true), Attempt::Matched);
        attempts.pass(Duration::from_millis(100));
        assert_eq!(attempts.attempt(2000, "sa", true), Attempt::Matched);
    }

    #[test]
    fn strangers_fill_no_memory() {
        let attempts = Attempts::new();
        assert_eq!(attempts.attempt(7, "sa", true), Attempt::Matched);
        assert_eq!(attempts.fail(8, "sa").0, 10);
        for address in 1000..1200 + PLACES_MAX as u32 {
            assert_eq!(
                attempts.attempt(address, &format!("login {address}"), false),
                Attempt::Failed
            );
        }
        assert!(attempts.throttle.places.lock().len() <= PLACES_MAX);
        assert!(attempts.throttle.logins.lock().len() <= PLACES_MAX);
        assert!(
            matches!(attempts.attempt(8, "x", false), Attempt::Wait(_)),
            "who has most against him is not forgotten"
        );
        let places = attempts.throttle.places.lock();
        assert!(places[&IpAddr::V4(Ipv4Addr::from_bits(7))].lock().is_known);
    }

    #[test]
    fn a_stranger_has_many_addresses_of_ipv6() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::9"));
        assert_ne!(network("2001:db8:1:2::9"), network("2001:db8:1:3::9"));
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
        assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
    }
}
