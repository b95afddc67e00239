//! For tests: whether counts can have come from given probabilities.

/// Fails when counts of draws are further from `shares` than chance makes them once in about
/// three million times (five standard deviations of Wilson and Hilferty's approximation), or
/// when something was drawn that has no share. Draws have fixed seeds, so that it holds always
/// or never.
pub(crate) fn assert_fits(seen: &[u64], shares: &[f64], what: &str) {
    /// The test asks for at least so many expected in each class; rare ones are put together.
    const LEAST: f64 = 5.0;
    let total: u64 = seen.iter().sum();
    let mut distance = 0.0;
    let mut classes = 0u32;
    let (mut rare_seen, mut rare_expected) = (0.0, 0.0);
    let mut class = |seen: f64, expected: f64| {
        distance += (seen - expected).powi(2) / expected;
        classes += 1;
    };
    for (&seen, share) in seen.iter().zip(shares) {
        let expected = total as f64 * share;
        assert!(seen == 0 || expected > 0.0, "{what}: drawn without a share");
        if expected >= LEAST {
            class(seen as f64, expected);
        } else {
            rare_seen += seen as f64;
            rare_expected += expected;
        }
    }
    if rare_expected >= LEAST {
        class(rare_seen, rare_expected);
    } else {
        assert!(
            rare_seen < 40.0,
            "{what}: {rare_seen} of {rare_expected} rare draws"
        );
    }
    if classes < 2 {
        return;
    }
    let freedom = f64::from(classes - 1);
    let spread = 2.0 / (9.0 * freedom);
    let deviations = ((distance / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    assert!(
        deviations < 5.0,
        "{what}: chi-square {distance} at {freedom} degrees of freedom"
    );
}

#[cfg(test)]
mod tests {
    use super::assert_fits;

    #[test]
    fn what_chance_can_make_fits() {
        assert_fits(&[1_030, 970], &[0.5, 0.5], "a coin");
    }

    #[test]
    #[should_panic(expected = "chi-square")]
    fn a_bias_of_a_few_deviations_does_not() {
        assert_fits(&[1_150, 850], &[0.5, 0.5], "a coin");
    }

    #[test]
    #[should_panic(expected = "drawn without a share")]
    fn what_has_no_share_is_not_drawn() {
        assert_fits(&[1_000, 1], &[1.0, 0.0], "a coin with one side");
    }
}
