import { expect, test } from "vitest";
import { hasUser, publicUrl } from "./url-text.ts";

test.each([
  ["https://models.example/a/b.onnx", "https://models.example/a/b.onnx", false],
  ["https://models.example/a@2/b.onnx", "https://models.example/a@2/b.onnx", false],
  ["https://u:s3cret@models.example/b.onnx", "https://models.example/b.onnx", true],
  ["https://s3cret@models.example/b.onnx", "https://models.example/b.onnx", true],
  ["https://models.example/b.onnx?sig=s3cret#s3cret", "https://models.example/b.onnx", false],
  // No URL at all, since a '/' ends the host: what was meant as a password is taken out all the same.
  ["http://u:s3/cret@models.example/b.onnx", "http://models.example/b.onnx", true],
  ["s3://u:s3cret@bucket/key", "s3://bucket/key", true],
  ["/models/a?b#c", "/models/a?b#c", false],
])("%s is shown as %s", (url, shown, user) => {
  expect(publicUrl(url)).toBe(shown);
  expect(hasUser(url)).toBe(user);
});
