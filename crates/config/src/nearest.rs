//! The nearest known word to one that is not known, for "did you mean".

/// The candidate closest to `word`, if any is close enough to be what was meant.
///
/// Closeness is the number of letters to change, add, drop or swap with their
/// neighbour, without regard to case; a third of the word's length may differ.
/// A candidate that the word is the beginning or the end of is also close (`ttl`
/// for `default_ttl`), or that begins the word (`warn` for `warning`), but less
/// so than a misspelling.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A longer word is no misspelling of ours, and the comparison costs its square.
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase().replace('-', "_");
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let known = candidate.to_lowercase();
            let distance = distance(&word, &known);
            if distance <= allowed {
                return Some((distance, candidate));
            }
            let part = word.len() >= 3 && (known.ends_with(&word) || known.starts_with(&word))
                || known.len() >= 4 && word.starts_with(&known);
            part.then_some((allowed + distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance in which swapping two neighbours counts one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &to) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(from != to);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 5] = ["default_ttl", "force_ttl", "grace", "keep", "memory"];

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("memroy", "memory", 1),
            ("grace", "grace", 0),
            ("é", "e", 1),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn finds_what_was_meant() {
        for (word, expected) in [
            ("defualt_ttl", Some("default_ttl")),
            ("default-ttl", Some("default_ttl")),
            ("Memory", Some("memory")),
            ("grce", Some("grace")),
            ("def", Some("default_ttl")),
            ("memory_limit", Some("memory")),
            ("mem", Some("memory")),
            ("zzz", None),
            ("", None),
            ("completely_other", None),
        ] {
            assert_eq!(nearest(word, WORDS), expected, "{word}");
        }
    }
}
