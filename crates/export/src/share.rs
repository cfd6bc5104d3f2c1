//! How a limit is divided: what is small is whole, what is large gives way.

/// Divides `most` among demands: each has all that it asks for as long as that is not more than an equal share of what
/// the larger ones would have.
pub(crate) fn shares(demands: &[usize], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|at| demands.get(*at));
    let (mut left, mut others) = (most, demands.len());
    let mut shares = vec![0; demands.len()];
    for at in order {
        let equal = left.checked_div(others).unwrap_or_default();
        others = others.saturating_sub(1);
        if let (Some(share), Some(demand)) = (shares.get_mut(at), demands.get(at)) {
            *share = equal.min(*demand);
            left = left.saturating_sub(*share);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ones_are_whole() {
        let table: [(&[usize], usize, &[usize]); 6] = [
            (&[], 7, &[]),
            (&[3, 5], 8, &[3, 5]),
            (&[3, 5], 7, &[3, 4]),
            (&[1_000_000, 5, 7], 20, &[8, 5, 7]),
            (&[100, 100, 2], 12, &[5, 5, 2]),
            (&[3, 5], 0, &[0, 0]),
        ];
        for (demands, most, want) in table {
            assert_eq!(shares(demands, most), want, "{demands:?} {most}");
        }
    }
}
