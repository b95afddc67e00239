//! How many processes an application should have, and which of them go. Pure: a view of them in,
//! what to do out.

use std::time::Duration;

/// An application at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The least number.
    pub(crate) least: usize,
    /// The greatest.
    pub(crate) most: usize,
    /// How many there should be, as decided before.
    pub(crate) wanted: usize,
    /// Processes that are not ready yet.
    pub(crate) starting: usize,
    /// Processes that are the pool's servers.
    pub(crate) serving: Vec<Serving>,
    /// The first in the queue has waited for longer than `queue_time`, and the last process that
    /// was added for the queue has had as long to make a difference.
    pub(crate) overdue: bool,
    /// So many processes sufficed all the time lately (`idle_timeout`).
    pub(crate) sufficed: usize,
    /// No pause after a failure holds.
    pub(crate) may_start: bool,
}

/// A process that is a server of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Serving {
    /// Its number for life.
    pub(crate) id: u64,
    /// It is to be replaced: the settings changed, it has grown too large, or served enough.
    pub(crate) outworn: bool,
    /// Requests it is working on.
    pub(crate) active: u64,
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// How many there should be.
    pub(crate) wanted: usize,
    /// Processes to start.
    pub(crate) start: usize,
    /// Processes to let finish and end.
    pub(crate) drain: Vec<u64>,
}

/// The rules, in this order:
///
/// 1. Between least and greatest number, one more is wanted when the queue is overdue, and
///    fewer when fewer sufficed. While processes boot, no more of them are begun than serve
///    already, so that the number can double in the time that one takes.
/// 2. What lacks of the wanted number is started, unless a pause holds.
/// 3. One outworn process at a time gets a successor; when it serves, the outworn one goes.
/// 4. What is more than wanted goes: outworn ones first, then the least busy.
pub(crate) fn decide(view: &View) -> Decision {
    let serving = view.serving.len();
    let outworn = view.serving.iter().filter(|one| one.outworn).count();
    let wanted = wanted(view);
    let mut start = wanted.saturating_sub(serving + view.starting);
    let replacing = view.starting > 0 || start > 0;
    if !replacing && outworn > 0 && serving - outworn < wanted {
        start = 1;
    }
    let excess = serving.saturating_sub(wanted);
    let mut candidates = view.serving.clone();
    candidates.sort_by_key(|one| (!one.outworn, one.active, std::cmp::Reverse(one.id)));
    Decision {
        wanted,
        start: if view.may_start { start } else { 0 },
        drain: candidates.iter().take(excess).map(|one| one.id).collect(),
    }
}

fn wanted(view: &View) -> usize {
    let most = view.most.max(view.least);
    let before = view.wanted.clamp(view.least, most);
    if view.overdue {
        let may_boot = view.starting < view.serving.len().max(1);
        let more = usize::from(may_boot && before <= view.serving.len() + view.starting);
        return (before + more).min(most);
    }
    before.min(view.sufficed.max(view.least))
}

/// Since when so many processes were needed: tells how many of them sufficed for a while.
#[derive(Clone, Debug, Default)]
pub(crate) struct Need {
    /// When more than `index` processes were needed last, in milliseconds.
    last_ms: Vec<u64>,
}

impl Need {
    /// Notes that `needed` processes are, at `now_ms`, of at most `most`.
    pub(crate) fn note(&mut self, needed: usize, most: usize, now_ms: u64) {
        let needed = needed.min(most);
        if self.last_ms.len() < needed {
            self.last_ms.resize(needed, now_ms);
        }
        self.last_ms.truncate(most);
        for last in self.last_ms.iter_mut().take(needed) {
            *last = now_ms;
        }
    }

    /// The number that sufficed at every moment of the last `window`.
    pub(crate) fn sufficed(&self, window: Duration, now_ms: u64) -> usize {
        let since = now_ms.saturating_sub(window.as_millis() as u64);
        // The list falls: whoever needed three needed two.
        self.last_ms
            .iter()
            .take_while(|&&last| last > since)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(ids: std::ops::Range<u64>) -> Vec<Serving> {
        let one = |id| Serving {
            id,
            outworn: false,
            active: 0,
        };
        ids.map(one).collect()
    }

    fn view(least: usize, most: usize, serving: Vec<Serving>) -> View {
        View {
            least,
            most,
            wanted: serving.len(),
            serving,
            sufficed: usize::MAX,
            may_start: true,
            ..View::default()
        }
    }

    #[test]
    fn the_least_number_is_started_at_once_but_for_a_pause() {
        let mut view = view(3, 5, Vec::new());
        assert_eq!(decide(&view).start, 3);
        view.starting = 2;
        assert_eq!(decide(&view).start, 1);
        view.may_start = false;
        assert_eq!(
            decide(&view),
            Decision {
                wanted: 3,
                ..Decision::default()
            }
        );
    }

    #[test]
    fn an_overdue_queue_adds_one_up_to_the_greatest_number() {
        let mut view = view(1, 3, good(0..2));
        view.overdue = true;
        assert_eq!(
            decide(&view),
            Decision {
                wanted: 3,
                start: 1,
                drain: vec![]
            }
        );
        view.wanted = 3;
        view.starting = 1;
        assert_eq!(
            decide(&view),
            Decision {
                wanted: 3,
                start: 0,
                drain: vec![]
            }
        );
    }

    #[test]
    fn booting_processes_are_no_more_than_serving_ones() {
        let mut view = view(1, 10, good(0..2));
        view.overdue = true;
        view.starting = 2;
        view.wanted = 4;
        assert_eq!(decide(&view).start, 0);
        view.starting = 1;
        view.wanted = 3;
        assert_eq!(decide(&view).start, 1);
    }

    #[test]
    fn none_becomes_one_when_somebody_waits() {
        let mut view = view(0, 2, Vec::new());
        assert_eq!(decide(&view).start, 0);
        view.overdue = true;
        assert_eq!(decide(&view).start, 1);
    }

    #[test]
    fn the_queue_does_not_add_more_while_one_that_died_is_missing() {
        let mut view = view(1, 10, good(0..1));
        view.wanted = 3;
        view.overdue = true;
        assert_eq!(decide(&view).wanted, 3);
    }

    #[test]
    fn the_least_busy_go_when_fewer_sufficed() {
        let mut serving = good(0..4);
        serving[3].active = 2;
        serving[1].active = 1;
        let mut view = view(1, 10, serving);
        view.sufficed = 2;
        assert_eq!(
            decide(&view),
            Decision {
                wanted: 2,
                start: 0,
                drain: vec![2, 0]
            }
        );
        view.sufficed = 0;
        assert_eq!(decide(&view).wanted, 1, "never below the least number");
    }

    #[test]
    fn outworn_ones_are_replaced_one_by_one_and_stay_until_the_successor_serves() {
        let mut serving = good(0..3);
        serving.iter_mut().for_each(|one| one.outworn = true);
        let mut view = view(3, 3, serving);
        assert_eq!(
            decide(&view),
            Decision {
                wanted: 3,
                start: 1,
                drain: vec![]
            }
        );
        view.starting = 1;
        assert_eq!(
            decide(&view),
            Decision {
                wanted: 3,
                start: 0,
                drain: vec![]
            }
        );
        view.starting = 0;
        view.serving.extend(good(3..4));
        let decision = decide(&view);
        assert_eq!(decision.drain.len(), 1, "the outworn one goes");
        assert!(decision.drain[0] < 3);
    }

    #[test]
    fn an_outworn_one_that_is_not_needed_gets_no_successor() {
        let mut serving = good(0..3);
        serving[1].outworn = true;
        serving[1].active = 9;
        let mut view = view(1, 3, serving);
        view.sufficed = 2;
        assert_eq!(
            decide(&view),
            Decision {
                wanted: 2,
                start: 0,
                drain: vec![1]
            }
        );
    }

    #[test]
    fn fewer_allowed_means_fewer() {
        let mut view = view(1, 2, good(0..4));
        view.wanted = 4;
        assert_eq!(decide(&view).drain, [3, 2]);
    }

    #[test]
    fn what_sufficed_is_the_peak_of_the_window() {
        let window = Duration::from_secs(10);
        let mut need = Need::default();
        need.note(3, 5, 1_000);
        need.note(1, 5, 5_000);
        assert_eq!(need.sufficed(window, 6_000), 3);
        assert_eq!(need.sufficed(window, 11_000), 1);
        assert_eq!(need.sufficed(window, 15_000), 0);
        need.note(9, 5, 20_000);
        assert_eq!(need.sufficed(window, 20_000), 5);
    }
}
