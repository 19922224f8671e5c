import type { LockedPackage } from "./packages.ts";

/** An image's bill of materials in CycloneDX 1.6: its packages with the hashes that the lockfile holds them to. */
export function billOfMaterials(image: string, version: string, packages: readonly LockedPackage[]): string {
  const components = packages.map((one) => ({
    type: "library",
    name: one.name,
    version: one.version,
    purl: `pkg:npm/${one.name.replace("@", "%40")}@${one.version}`,
    ...(one.integrity === null ? {} : { hashes: [hashOf(one.integrity)] }),
  }));
  return JSON.stringify(
    {
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      version: 1,
      metadata: { component: { type: "container", name: image, version } },
      components,
    },
    null,
    1,
  );
}

/** npm writes `sha512-<base64>`; a bill says the algorithm's own name and hexadecimal digits. */
function hashOf(integrity: string): { alg: string; content: string } {
  const at = integrity.indexOf("-");
  const algorithm = integrity.slice(0, at).toUpperCase().replace("SHA", "SHA-");
  return { alg: algorithm, content: Buffer.from(integrity.slice(at + 1), "base64").toString("hex") };
}
