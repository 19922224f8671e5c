/**
 * An error for a person: what is wrong, where, what is allowed and what to do.
 * `code` is stable (`PENSTOCK_...`); `todo` is the next step in plain words.
 */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly code: string;
  readonly todo: string;
  constructor(code: `PENSTOCK_${string}`, message: string, todo: string) {
    super(message);
    this.code = code;
    this.todo = todo;
  }
}
