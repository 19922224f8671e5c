import { autoscaler } from "../../runtime/control/autoscaler/autoscaler.ts";
import type { Verdict } from "../../runtime/core/controller.ts";
import type { Wanted } from "../../runtime/domain/replica.ts";

/** Replicas for each one that demand asks for: one in three is spare. */
const SPARE_FACTOR = 1.5;

/** The real autoscaler, except that it keeps spare replicas while an endpoint is awake. */
const cautious: typeof autoscaler = {
  ...autoscaler,
  decide(world, memory, now) {
    const verdict = autoscaler.decide(world, memory, now);
    return verdict.output === null ? verdict : withSpares(verdict, verdict.output);
  },
};
export default cautious;

function withSpares<M>(verdict: Verdict<M, Wanted>, wanted: Wanted): Verdict<M, Wanted> {
  const replicas = Math.ceil(wanted.replicas * SPARE_FACTOR);
  const inputs = { ...verdict.because.inputs, spare: replicas - wanted.replicas };
  return { ...verdict, output: { ...wanted, replicas }, because: { ...verdict.because, inputs } };
}
