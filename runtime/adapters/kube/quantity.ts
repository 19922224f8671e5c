/** What the suffixes of Kubernetes' quantities multiply by. */
const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A Kubernetes quantity (`1500m`, `64Mi`, `2e3`) as a number. Errors: throws for text that is none. */
export function parseQuantity(text: string): number {
  const [, digits, suffix = ""] = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(text) ?? [];
  const factor = SUFFIXES[suffix];
  if (digits === undefined || factor === undefined) throw new Error(`${JSON.stringify(text)} is no quantity`);
  return Number(digits) * factor;
}
