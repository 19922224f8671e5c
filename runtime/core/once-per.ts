/**
 * The function, computed once for each object: what it gives is held for as long as the object lives.
 * Requires: `compute` reads nothing but the object, and the object never changes (as no value of a fact does).
 */
export function oncePer<V extends object, R>(compute: (value: V) => R): (value: V) => R {
  const computed = new WeakMap<V, { readonly result: R }>();
  return (value) => {
    const known = computed.get(value) ?? { result: compute(value) };
    computed.set(value, known);
    return known.result;
  };
}
