//! Places for requests to the providers of models, given out by turns of the users.

use agent::Owner;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

/// The places at all providers, each of which has the same number.
#[derive(Clone)]
pub(super) struct Places(Arc<Shared>);

struct Shared {
    /// Requests to one provider at the same time.
    most: usize,
    providers: Mutex<HashMap<String, Provider>>,
}

/// Whose request it is; `None` is the user who runs the server.
type User = Option<Owner>;

/// The requests to one provider.
#[derive(Default)]
struct Provider {
    running: usize,
    /// The requests of each user that wait, in order.
    waiting: HashMap<User, VecDeque<oneshot::Sender<PlaceAt>>>,
    /// The users with requests that wait, the next first.
    turns: VecDeque<User>,
    /// Until when the provider wants no requests.
    closed_until: Option<Instant>,
}

/// A place, free again when this is dropped.
pub(super) struct PlaceAt {
    places: Places,
    provider: String,
}

impl Places {
    /// Creates places: so many at each provider, or any number.
    pub(super) fn new(most: Option<usize>) -> Self {
        Self(Arc::new(Shared { most: most.unwrap_or(usize::MAX), providers: Mutex::default() }))
    }

    /// Waits for a place at a provider, and until it wants requests again. Dropping the future
    /// gives up the place, or the wait for it.
    pub(super) async fn enter(&self, provider: &str, user: User) -> PlaceAt {
        let place = match self.request(provider, user) {
            Ok(place) => place,
            // The sender is dropped with the queue only, which this keeps.
            Err(waits) => match waits.await {
                Ok(place) => place,
                Err(_) => std::future::pending().await,
            },
        };
        while let Some(until) = self.closed_until(provider) {
            sleep_until(until).await;
        }
        place
    }

    /// Lets no further request to a provider begin for some time.
    pub(super) fn close(&self, provider: &str, wait: Duration) {
        let until = Instant::now() + wait;
        let mut providers = self.lock();
        let provider = providers.entry(provider.to_owned()).or_default();
        provider.closed_until = provider.closed_until.max(Some(until));
    }

    fn request(&self, name: &str, user: User) -> Result<PlaceAt, oneshot::Receiver<PlaceAt>> {
        let mut providers = self.lock();
        let provider = providers.entry(name.to_owned()).or_default();
        provider.drop_abandoned();
        if provider.turns.is_empty() && provider.running < self.0.most {
            provider.running += 1;
            return Ok(self.place(name));
        }
        let (start, waits) = oneshot::channel();
        let queue = provider.waiting.entry(user.clone()).or_default();
        if queue.is_empty() {
            provider.turns.push_back(user);
        }
        queue.push_back(start);
        Err(waits)
    }

    fn closed_until(&self, provider: &str) -> Option<Instant> {
        let mut providers = self.lock();
        let provider = providers.get_mut(provider)?;
        provider.closed_until = provider.closed_until.filter(|until| *until > Instant::now());
        provider.closed_until
    }

    /// Gives a place back, to the next user.
    fn leave(&self, name: &str) {
        let next = {
            let mut providers = self.lock();
            let Some(provider) = providers.get_mut(name) else { return };
            provider.drop_abandoned();
            let next = provider.next();
            if next.is_none() {
                provider.running -= 1;
            }
            next
        };
        if let Some(start) = next {
            // If the receiver is gone, the place comes back and goes to the next one.
            drop(start.send(self.place(name)));
        }
    }

    fn place(&self, provider: &str) -> PlaceAt {
        PlaceAt { places: self.clone(), provider: provider.to_owned() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Provider>> {
        self.0.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider {
    /// Takes the next request of the user whose turn it is.
    fn next(&mut self) -> Option<oneshot::Sender<PlaceAt>> {
        let user = self.turns.pop_front()?;
        let queue = self.waiting.get_mut(&user)?;
        let start = queue.pop_front();
        match queue.is_empty() {
            true => drop(self.waiting.remove(&user)),
            false => self.turns.push_back(user),
        }
        start
    }

    /// Forgets requests that were cancelled while they waited.
    fn drop_abandoned(&mut self) {
        self.waiting.retain(|_, queue| {
            queue.retain(|start| !start.is_closed());
            !queue.is_empty()
        });
        let Self { waiting, turns, .. } = self;
        turns.retain(|user| waiting.contains_key(user));
    }
}

impl Drop for PlaceAt {
    fn drop(&mut self) {
        self.places.leave(&self.provider);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt as _, future::BoxFuture};

    fn user(name: &str) -> User {
        Some(Owner { tenant: "a".to_owned(), user: name.to_owned() })
    }

    /// Begins to wait for a place.
    fn begin(places: &Places, name: &str) -> BoxFuture<'static, PlaceAt> {
        let (places, user) = (places.clone(), user(name));
        let mut entering = async move { places.enter("openai", user).await }.boxed();
        assert!((&mut entering).now_or_never().is_none(), "there is a place");
        entering
    }

    fn is_in(entering: &mut BoxFuture<'static, PlaceAt>) -> Option<PlaceAt> {
        entering.now_or_never()
    }

    #[tokio::test]
    async fn fifty_requests_of_one_user_do_not_hold_up_the_first_of_another() {
        let places = Places::new(Some(2));
        let (one, two) =
            (places.enter("openai", user("ada")).await, places.enter("openai", user("ada")).await);
        let mut of_ada: Vec<_> = (0..48).map(|_| begin(&places, "ada")).collect();
        let mut of_bob = [begin(&places, "bob"), begin(&places, "bob")];
        // Another provider has places of its own.
        drop(places.enter("gemini", user("bob")).await);
        drop(one);
        assert!(is_in(&mut of_bob[0]).is_none(), "it is Ada's turn, who waited first");
        let third = is_in(&mut of_ada[0]).unwrap();
        drop(two);
        let _of_bob = is_in(&mut of_bob[0]).unwrap();
        drop(third);
        assert!(is_in(&mut of_bob[1]).is_none());
        let _fourth = is_in(&mut of_ada[1]).unwrap();
    }

    #[tokio::test]
    async fn a_request_that_is_cancelled_while_it_waits_or_as_it_begins_frees_the_place() {
        let places = Places::new(Some(1));
        let first = places.enter("openai", user("ada")).await;
        let cancelled = begin(&places, "ada");
        let mut second = begin(&places, "bob");
        let begins = begin(&places, "eve");
        drop(cancelled);
        drop(first);
        let second = is_in(&mut second).unwrap();
        drop(second);
        // The place was sent to the third, who is gone before it is taken.
        drop(begins);
        drop(places.enter("openai", user("ada")).await);
        assert!(places.lock()["openai"].running == 0 && places.lock()["openai"].turns.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_request_was_refused_for_holds_for_all_of_the_provider() {
        let places = Places::new(None);
        let begun = Instant::now();
        places.close("openai", Duration::from_secs(30));
        places.close("openai", Duration::from_secs(10));
        drop(places.enter("gemini", None).await);
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let all = (0..9).map(|_| places.enter("openai", user("ada")));
        futures::future::join_all(all).await;
        assert_eq!(begun.elapsed().as_secs(), 30);
        places.enter("openai", None).await;
        assert_eq!(begun.elapsed().as_secs(), 30);
    }
}
