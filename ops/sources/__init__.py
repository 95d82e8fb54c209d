"""Where text comes from: one file a format, each giving rows."""
