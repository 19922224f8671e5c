/** Lines that the help of each command ends with. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  up: [
    "penstock up                                       # the example models at http://127.0.0.1:8080",
    "penstock up --config region.yaml --port 9000",
  ],
  deploy: [
    "penstock deploy ./model.onnx --name flowers       # a file",
    "penstock deploy ./mlruns/model --name churn       # a folder saved by MLflow",
    "penstock deploy ./chat.gguf --min 1 --max 16      # always one replica, at most 16 requests in flight",
    "penstock deploy ./app --name mine --command 'node server.mjs'",
    "penstock deploy ./model.onnx --name flowers --canary 10",
    "penstock deploy -f endpoint.yaml",
  ],
  split: [
    "penstock split flowers a1b2=90 c3d4=10            # the starts of the versions' hashes are enough",
    "penstock split flowers --canary 10                # the newest version gets a tenth",
    "penstock split flowers --latest",
  ],
  rollback: ["penstock rollback flowers", "penstock rollback flowers --to a1b2"],
  scale: [
    "penstock scale flowers --min 0                    # may sleep",
    "penstock scale flowers --min 4 --max 200          # room for 4 at once stays provisioned",
  ],
  delete: ["penstock delete flowers", "penstock delete flowers --yes"],
  doctor: ["penstock doctor"],
  get: ["penstock get", "penstock get flowers --json"],
  describe: ["penstock describe flowers"],
  logs: [
    "penstock logs flowers -f",
    "penstock logs --source router --lines 20",
    "penstock logs --source flowers-0665a2c660-1       # one replica",
  ],
  decisions: ["penstock decisions flowers --limit 5", "penstock decisions --controller autoscaler"],
  replay: ["penstock replay 1234                              # an id out of `penstock decisions`"],
  load: [
    "penstock load flowers --rate 50 --duration 10s",
    "penstock load chat --template chat --stream --rate 2",
    "penstock load flowers --profile 10:30s,10-1000:60s",
    "penstock load http://127.0.0.1:9000/predict --body '{\"row\": {{n}}}' --rate 100",
  ],
  key: ["penstock key create app --endpoint flowers", "penstock key list", "penstock key hash a-long-secret"],
  completion: ["source <(penstock completion bash)"],
};

/** What a command's output means, where its words alone don't say it. */
export const NOTES: Readonly<Record<string, string>> = {
  get: `READY is ready / wanted replicas. QPS, P50 and P99 are of the last 10 s, measured at the router.
COLD STARTS counts how often it woke from having no ready replica, since the controller started.`,
  describe: "PER REPLICA is how many requests in flight one replica should carry: learned, and kept over restarts.",
};
