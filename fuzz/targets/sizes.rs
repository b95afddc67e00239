//! Distributions of sizes: what is read is written the same, and gives sizes
//! within its own bounds.
#![no_main]

use forebay_workload::Sizes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(sizes) = text.parse::<Sizes>() else {
        return;
    };
    let again: Sizes = sizes.to_string().parse().expect("its own text is read");
    for index in 0..20 {
        let size = sizes.of(7, index);
        assert_eq!(size, sizes.of(7, index));
        assert_eq!(size, again.of(7, index), "{sizes}");
        match &sizes {
            Sizes::Constant(only) => assert_eq!(size, *only),
            Sizes::Uniform(low, high) => assert!((*low..=*high).contains(&size)),
            Sizes::Lognormal { most, .. } => assert!(size <= *most),
            Sizes::Pareto { least, most, .. } => assert!((*least..=*most).contains(&size)),
            Sizes::Weighted(all) => assert!(all.iter().any(|(one, _)| *one == size)),
        }
    }
});
