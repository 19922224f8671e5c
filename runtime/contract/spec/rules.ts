import { z } from "zod";

/** A rule that holds between fields, in the Common Expression Language (`self` is the value), for where it is checked by an API server. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
}

/**
 * The rules of schemas that a schema language cannot say: what `refine` checks here, an API server checks by these.
 * A schema is registered after its last refinement.
 */
export const celRules = z.registry<
  { readonly rules: readonly CelRule[]; readonly maxProperties?: number },
  z.core.$ZodType
>();
