/**
 * Names that more than one process must agree on: headers, environment keys, metric names, files. One list, no copies.
 */

/** Request and answer headers. */
export const HEADERS = {
  requestId: "x-request-id",
  /** A replica's refusal before any work was done (its cap is reached): the router picks again, no fault is counted. */
  refused: "x-penstock-refused",
  /** Set on every answer: the version that answered. */
  version: "x-penstock-version",
  /** A keeper's own request to its replica, with the secret of that start: served past the cap, moves no load counter. */
  probe: "x-penstock-probe",
  /** Names the endpoint where a path can't (`/invocations` in a region with several). */
  endpoint: "x-penstock-endpoint",
} as const;

/** Environment keys that a parent process sets for its children. */
export const ENV = {
  /** JSON of a ReplicaLaunch (contract/wire/launch.ts), for a keeper. */
  replicaLaunch: "PENSTOCK_REPLICA_LAUNCH",
  /** JSON of a RouterLaunch, for a router. */
  routerLaunch: "PENSTOCK_ROUTER_LAUNCH",
  /** JSON of a ControllerLaunch, for the controller. */
  controllerLaunch: "PENSTOCK_CONTROLLER_LAUNCH",
} as const;

/** File in a data folder where `penstock up` notes how its region is reached: JSON with `url`. */
export const ADDRESS_FILE = "address.json";

/** Paths of the region's own surface on the router's port, handed through to the controller. */
export const REGION_PATHS = ["/api/", "/console", "/openapi.json", "/metrics", "/docs"] as const;

/** Names at /metrics. Units last, as Prometheus wants them. */
export const METRICS = {
  requests: "penstock_requests_total",
  requestSeconds: "penstock_request_duration_seconds",
  firstByteSeconds: "penstock_first_byte_seconds",
  inFlight: "penstock_requests_in_flight",
  queued: "penstock_requests_queued",
  retries: "penstock_retries_total",
  failed: "penstock_requests_failed_total",
  turnedAway: "penstock_requests_turned_away_total",
  clientGone: "penstock_requests_client_gone_total",
  trafficRatio: "penstock_version_traffic_ratio",
  targetConcurrency: "penstock_target_concurrency",
  wantedReplicas: "penstock_replicas_wanted",
  readyReplicas: "penstock_replicas_ready",
  coldStarts: "penstock_cold_starts_total",
  decisions: "penstock_decisions_total",
  replicaCpuSeconds: "penstock_replica_cpu_seconds_total",
  replicaMemoryBytes: "penstock_replica_memory_bytes",
  replicaProgress: "penstock_replica_progress_total",
  replicaFaults: "penstock_replica_faults_total",
  replicaEjected: "penstock_replica_ejected",
  /** At a keeper's own /metrics only. */
  replicaInFlight: "penstock_replica_in_flight",
  replicaReady: "penstock_replica_ready",
  replicaStartSeconds: "penstock_replica_start_seconds",
  /** With the label `gauge`: a name of ENGINE_GAUGES. */
  replicaEngine: "penstock_replica_engine",
  routerMemoryBytes: "penstock_router_memory_bytes",
  snapshotGeneration: "penstock_snapshot_generation",
} as const;

/** Gauges that engines report under one set of names, whatever they call them inside. */
export const ENGINE_GAUGES = {
  sequencesActive: "sequences_active",
  sequencesWaiting: "sequences_waiting",
  kvUseRatio: "kv_use_ratio",
  batchSizeMean: "batch_size_mean",
  tokensTotal: "tokens_total",
} as const;
