// The columns of a heat map: which samples each of them shows.

/**
 * For each column of pixels of the range [min, max) the samples that it shows, as [first, end) of `times`; none where
 * they are the same. Those are the samples of the column's own time. Where samples are further apart than columns, a
 * column without one shows the sample that is nearest, if that is no further than half of the way to the next one,
 * and nothing before the first sample or where samples are `gap` or more apart.
 */
export function columns(times, [from, to], [min, max], count, gap) {
  const shown = new Int32Array(2 * count);
  const pixel = (max - min) / count;
  // Where a sample's part of the time begins and ends, if no column has it as its own.
  const begin = at => at > 0 && times[at] - times[at - 1] < gap ? (times[at] + times[at - 1]) / 2 : times[at];
  const end = at => at + 1 < times.length && times[at + 1] - times[at] < gap ? (times[at] + times[at + 1]) / 2 : times[at];
  let at = Math.max(0, from - 1);
  const last = Math.min(times.length, to + 1);
  for (let x = 0; x < count; x++) {
    const [left, right] = [min + x * pixel, min + (x + 1) * pixel];
    while (at < last && times[at] < left) at++;
    let next = at;
    while (next < last && times[next] < right) next++;
    if (next === at) {
      const middle = (left + right) / 2;
      const near = [at - 1, at].find(n => n >= 0 && n < last && begin(n) <= middle && middle < end(n));
      [shown[2 * x], shown[2 * x + 1]] = near === undefined ? [0, 0] : [near, near + 1];
    } else {
      [shown[2 * x], shown[2 * x + 1]] = [at, next];
      at = next;
    }
  }
  return shown;
}

/** The greatest of the values in [from, to), null of none. */
export function greatest(values, from, to) {
  let most = null;
  for (let at = from; at < to; at++) {
    const value = values[at];
    if (value !== null && (most === null || value > most)) most = value;
  }
  return most;
}
