"""What Penstock adds around MLflow's scoring server, inside the model's own environment."""
